/** AIChatAgent with compaction, as the model sees it and as the person sees it. */
import { generateText, isStepCount, tool, type ModelMessage, type StepResult, type ToolSet, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { stepParts } from "../../src/turn/step-parts.ts";
import { signing } from "../turn/signing-provider.ts";
import { skipRetryDelays } from "../agents.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { promisesOf } from "./promises.ts";
import { connect, ended, expectEqual, inside, messagesOf, newChat, talkUntilCompacted, user } from "./chat.ts";

skipRetryDelays();

promisesOf({
  newChat,
  inside,
  connect,
  messagesOf,
  ended,
  talkUntilCompacted,
  expectEqual,
  longTalk: 12,
  store: (name, messages) => inside(name, (agent) => agent.persistMessages([...agent.messages, ...messages])),
});

test("version 6 of the AI SDK says less of a step: what the turn has brought is in the next prompt all the same", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  await person.say(user("u0"));
  await inside(name, async (agent) => {
    const turn = await agent.compacted();
    const call = { type: "tool-call", toolCallId: "look-1", toolName: "look", input: { n: 1 } } as const;
    const result = { ...call, type: "tool-result", output: { type: "text", value: "Entry 1." } } as const;
    const brought: ModelMessage[] = [
      { role: "assistant", content: [call] },
      { role: "tool", content: [result] },
    ];
    const steps = [{ response: { messages: brought } }];
    const behind = await turn.prepareStep({ messages: [...turn.messages, ...brought], steps });
    // The assistant said the last words before the turn, so its call goes on from them.
    const said = { type: "text", text: "Answer 0." } as const;
    const behindAnswer = [{ role: "assistant", content: [said, call] }, brought[1]];
    expect(behind.messages?.slice(-2)).toEqual(behindAnswer);
    expect(behind.messages).toHaveLength(turn.messages.length + 1);
    const replaced = await turn.prepareStep({ messages: [{ role: "user", content: "Other." }, ...brought], steps });
    expect(replaced.messages?.slice(-2)).toEqual(behindAnswer);
  });
});

test("what a turn has brought is counted with the view that it was sent behind", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  await person.say(user("u0"));
  await inside(name, async (agent) => {
    const turn = await agent.compacted();
    const call = { type: "tool-call", toolCallId: "look-1", toolName: "look", input: { n: 1 } } as const;
    const output = { type: "text", value: "Entry of the ledger. ".repeat(400) } as const;
    const brought: ModelMessage[] = [
      { role: "assistant", content: [call] },
      { role: "tool", content: [{ ...call, type: "tool-result", output }] },
    ];
    await turn.prepareStep({ messages: [...turn.messages, ...brought], responseMessages: brought });
    const model = { provider: "scripted", modelId: "one" };
    // Version 6 of the AI SDK calls this name, and later versions the other.
    await turn.onStepFinish({ usage: { inputTokens: 5_000 }, model } as StepResult<ToolSet>);
    const [row] = agent.palimpsest.usage.rows("");
    expect(row?.lastEstimate).toBeGreaterThan(estimateTokens(output.value));
  });
});

test("data of a message is said as `convertDataPart` says it", async () => {
  const { name } = newChat("idle");
  const asked: UIMessage = { id: "u0", role: "user", parts: [{ type: "data-selection", data: "the north berth" }] };
  await inside(name, (agent) => agent.persistMessages([asked]));
  const { messages } = await inside(name, (agent) =>
    agent.compacted({ convertDataPart: ({ data }) => ({ type: "text", text: `Selected: ${String(data)}` }) }),
  );
  expect(JSON.stringify(messages)).toContain("Selected: the north berth");
});

test("a reply that goes on is sent with each call's own input and output, where a model reused an id", async () => {
  const { name } = newChat("idle");
  const reply: UIMessage = { id: "reply", role: "assistant", parts: [...again(1), ...again(2), ...again(3)] };
  await inside(name, (agent) => agent.persistMessages([user("u0"), reply]));
  const { messages } = await inside(name, (agent) => agent.compacted());
  const sent = messages.flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
  expect(sent.flatMap((part) => (part.type === "tool-call" ? [part.input] : []))).toEqual(
    [1, 2, 3].map((n) => ({ n })),
  );
  expect(sent.flatMap((part) => (part.type === "tool-result" ? [part.output] : []))).toEqual(
    [1, 2, 3].map((n) => ({ type: "text", value: `Entry ${n}.` })),
  );
});

test("a reply that goes on is made to fit with its texts and inputs, at the start and at later steps", async () => {
  const { name } = newChat("idle");
  const parts: UIMessage["parts"] = [
    { type: "step-start" },
    { type: "text", text: "the ledger keeps its promise. ".repeat(5_000) },
    {
      type: "tool-look",
      toolCallId: "look-1",
      state: "output-available",
      input: { n: 1, note: "a long note ".repeat(5_000) },
      output: "There.",
    },
  ];
  const reply: UIMessage = { id: "reply", role: "assistant", parts };
  await inside(name, (agent) => agent.persistMessages([user("u0"), reply]));
  await inside(name, async (agent) => {
    const turn = await agent.compacted({ maxTokens: 8_000 });
    expect(tokens(turn.messages)).toBeLessThan(8_000);
    const own: ModelMessage = { role: "assistant", content: "the turn says this. ".repeat(500) };
    const { messages } = await turn.prepareStep({ responseMessages: [own] });
    expect(messages?.at(-1)).toEqual(own);
    expect(tokens(messages)).toBeLessThan(8_000);
  });
});

/** A step with a call whose id each of them has. */
function again(n: number): UIMessage["parts"] {
  const call = { toolCallId: "look", state: "output-available", input: { n }, output: `Entry ${n}.` } as const;
  return [{ type: "step-start" }, { type: "tool-look", ...call }];
}

function tokens(messages: readonly ModelMessage[] | undefined): number {
  return estimateTokens(JSON.stringify(messages));
}

test("a turn of 500 steps never exceeds its limit, tells the whole request, and keeps its beginning", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  for (let n = 0; n < 3; n++) await person.say(user(`u${n}`));
  const request = `Answer in German. ${"Look at every berth of the harbour. ".repeat(20)}And end with a list.`;
  await inside(name, async (agent) => {
    await agent.saveMessages([...agent.messages, user("ask", request)]);
    const LIMIT = 8_000;
    const turn = await agent.compacted({ maxTokens: LIMIT });
    const brought: ModelMessage[] = [];
    let [before, changes, most] = ["", 0, 0];
    for (let n = 0; n < 500; n++) {
      const call = { type: "tool-call", toolCallId: `look-${n}`, toolName: "look", input: { n } } as const;
      const output = { type: "text", value: `Entry ${n}: ${"the ledger keeps its promise. ".repeat(20)}` } as const;
      brought.push(
        { role: "assistant", content: [call] },
        { role: "tool", content: [{ ...call, type: "tool-result", output }] },
      );
      const { messages = [] } = await turn.prepareStep({ responseMessages: [...brought] });
      const prompt = JSON.stringify(messages);
      most = Math.max(most, estimateTokens(prompt));
      expect(prompt).toContain(JSON.stringify(request).slice(1, -1));
      expect(prompt).toContain(`Entry ${n}: `);
      if (before !== "" && !prompt.startsWith(before.slice(0, -1))) changes++;
      before = prompt;
    }
    expect(most).toBeLessThanOrEqual(LIMIT);
    const grown = estimateTokens(JSON.stringify(brought));
    expect(changes).toBeLessThanOrEqual(grown / (LIMIT * 0.3) + 1);
  });
});

test("thoughts that a provider binds to all before them: no request is refused, with summaries in the middle of turns", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  await person.say(user("u0"));
  const { model, told } = signing(4);
  await inside(name, async (agent) => {
    const session = agent.palimpsest.session();
    const look = tool({
      inputSchema: z.object({ n: z.number() }),
      execute: async ({ n }) => {
        const ids = agent.messages.map(({ id }) => id);
        if (n === 2 && ids.length === 8) await session.addCompaction("It was looked at.", "u0", ids[3] ?? "");
        return { entry: n, text: "The ledger keeps its promise. ".repeat(12) };
      },
    });
    for (let n = 0; n < 6; n++) {
      await agent.saveMessages([...agent.messages, user(`ask${n}`, "Look around.")]);
      const turn = await agent.compacted({ tools: { look } });
      const { steps } = await generateText({
        model,
        tools: { look },
        ...turn,
        stopWhen: isStepCount(9),
      });
      const parts = (await Promise.all(steps.map((step) => stepParts(step, { look })))).flat();
      await agent.saveMessages([...agent.messages, { id: `answer${n}`, role: "assistant", parts }]);
    }
  });
  expect(told.refused).toBe(0);
  expect(told.sent).toBeGreaterThan(60);
});
