/** A turn that is stored in its session while it runs. Tests the prompt of each step, and the stored result. */
import { Session } from "../../src/agent/sessions/session.ts";
import type { FullSession } from "../rooms.ts";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { LanguageModelV4, LanguageModelV4Message } from "@ai-sdk/provider";
import { convertToModelMessages, generateText, isStepCount, streamText, type ModelMessage, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { keepTurn, viewBeforeStep, type TurnOptions } from "../../src/turn/turn.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import { looker, tools, type Prompt } from "../agent/looker.ts";

skipRetryDelays();

/** A turn in a session that holds one question. Returns the prompts of the model. */
async function turn(session: FullSession, model: LanguageModelV4, options: Partial<TurnOptions> = {}): Promise<void> {
  await session.appendMessage({ id: "question", role: "user", parts: [{ type: "text", text: "Look it all up." }] });
  await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
  await generateText({
    model,
    tools,
    prompt: "never sent",
    stopWhen: isStepCount(60),
    ...keepTurn(session, { ...options, replyId: "reply", tools }),
  });
}

/** Call ids in the parts of one type. */
function callIds(message: LanguageModelV4Message | undefined, type: "tool-call" | "tool-result"): string[] {
  if (message === undefined || typeof message.content === "string") return [];
  return message.content.flatMap((part) => (part.type === type && "toolCallId" in part ? [part.toolCallId] : []));
}

/** Every call has its result right after it, and the reverse, as providers require. */
function expectPaired(prompt: Prompt): void {
  for (const [at, { role }] of prompt.entries()) {
    const [called, answered] = role === "assistant" ? [at, at + 1] : [at - 1, at];
    if (role === "assistant" || role === "tool") {
      expect(callIds(prompt[answered], "tool-result")).toEqual(callIds(prompt[called], "tool-call"));
    }
  }
}

/** How many messages two prompts have in common from the start. */
function common(one: Prompt, other: Prompt): number {
  const differs = one.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(other[at]));
  return differs === -1 ? one.length : differs;
}

test("each step is sent all steps before it, and its prompt begins with that of the step before", async () => {
  const { stub } = newAgent();
  const prompts = await runInDurableObject(stub, async (agent) => {
    const model = looker(6);
    await turn(Session.create(agent).forSession("long!100000"), model);
    return model.doGenerateCalls.map((call) => call.prompt);
  });
  expect(prompts).toHaveLength(7);
  for (const [at, prompt] of prompts.entries()) {
    expectPaired(prompt);
    expect(JSON.stringify(prompt)).not.toContain("never sent");
    expect(prompt).toHaveLength(1 + 2 * at);
    if (at > 0) expect(common(prompts[at - 1]!, prompt)).toBe(prompts[at - 1]!.length);
  }
});

test("an overlay that lands in the middle of a turn is used by the next step, and the turn goes on (V2)", async () => {
  const { stub } = newAgent((prompt) => summaryOf(prompt, "Entries were looked up."));
  const { prompts, runs, view } = await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent);
    const ended: number[] = [];
    // A model that takes longer than the summariser.
    const model = looker(50, async (step) => {
      const live = agent.palimpsest.runs.live("");
      if (live.length > 0) ended.push(step);
      await Promise.all(live.map((run) => session.ended(run.id)));
    });
    await turn(session, model);
    const prompts = model.doGenerateCalls.map((call) => call.prompt);
    return { prompts, runs: ended, view: await session.getView() };
  });
  expect(prompts).toHaveLength(51);
  expect(runs.length).toBeGreaterThan(1);
  for (const [at, prompt] of prompts.entries()) {
    expectPaired(prompt);
    const landed = runs.includes(at - 1);
    expect([at, at > 0 && prompt.length < prompts[at - 1]!.length]).toEqual([at, landed]);
    if (at > 0 && !landed) expect(common(prompts[at - 1]!, prompt)).toBe(prompts[at - 1]!.length);
  }
  expect(view.tokens).toBeLessThan(2_500);
  expect(view.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
});

test("a turn of fifty steps is never sent more than its limit, and each prompt begins with the one before but for a few", async () => {
  const { stub } = newAgent();
  const maxTokens = 2_500;
  const { prompts, reduced, reply } = await runInDurableObject(stub, async (agent) => {
    // The compaction never comes, because its threshold is out of reach.
    const session = Session.create(agent).forSession("never!100000");
    const model = looker(50, undefined, (_, prompt) => Math.round(JSON.stringify(prompt).length / 5));
    const reduced: number[] = [];
    await turn(session, model, { maxTokens, onReduced: ({ promptTokens }) => void reduced.push(promptTokens) });
    return {
      reduced,
      prompts: model.doGenerateCalls.map((call) => call.prompt),
      reply: await session.getMessage("reply"),
    };
  });
  expect(prompts).toHaveLength(51);
  expect(reduced.length).toBeGreaterThan(20);
  expect(Math.max(...reduced)).toBeLessThanOrEqual(maxTokens);
  let broken = 0;
  for (const [at, prompt] of prompts.entries()) {
    expectPaired(prompt);
    expect(JSON.stringify(prompt)).toContain("Look it all up.");
    if (at > 0 && common(prompts[at - 1]!, prompt) < prompts[at - 1]!.length) broken++;
    // What the model did last is there as it did it.
    if (at > 0) expect(callIds(prompt.at(-1), "tool-result")).toEqual([`call-${at - 1}`]);
  }
  // Once for each 30 % of the limit that the turn brought.
  expect(broken).toBeLessThanOrEqual(16);
  expect(reply?.parts.filter((part) => part.type === "tool-look")).toHaveLength(50);
});

function withoutThoughts(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (message.role !== "assistant" || typeof message.content === "string") return message;
    return { ...message, content: message.content.filter(({ type }) => type !== "reasoning") };
  });
}

test("without a limit of its own the messages of a turn are kept under twice the threshold; one that makes no sense is refused before it", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent)
      .forSession("default!600")
      .onCompaction(async () => null);
    const model = looker(30);
    await turn(session, model);
    const { tokens } = await session.getView();
    expect(tokens).toBeGreaterThan(3_000);
    const limited = await session.getView({ maxTokens: session.turnTokens });
    expect(limited.tokens).toBeLessThanOrEqual(1_200);
    // What the model thought stands behind other words now.
    const { messages } = await viewBeforeStep(session, { tools })();
    expect(messages).toEqual(withoutThoughts(await convertToModelMessages(limited.messages, { tools })));
    expect(() => viewBeforeStep(session, { maxTokens: 3 })).toThrow("[invalid_options]");
    expect(() => keepTurn(session, { replyId: "reply", truncate: { step: 0 } })).toThrow("[invalid_options]");
  });
});

test("no step of it is lost or altered by that (M1), a failed call and what the model thought included", async () => {
  const { stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  const reply = await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent);
    await turn(session, looker(30));
    return session.getMessage("reply");
  });
  const parts = reply?.parts ?? [];
  expect(parts.filter((part) => part.type === "step-start")).toHaveLength(31);
  expect(parts.slice(0, 3)).toMatchObject([
    { type: "step-start" },
    { type: "reasoning", text: "Number 0 is next.", providerMetadata: { mock: { signature: "s0" } } },
    { type: "tool-look", toolCallId: "call-0", state: "output-available", input: { n: 0 } },
  ]);
  const calls = parts.filter((part) => part.type === "tool-look");
  expect(calls.map((part) => (part as { toolCallId: string }).toolCallId)).toEqual(
    Array.from({ length: 30 }, (_, n) => `call-${n}`),
  );
  expect(calls[3]).toMatchObject({
    state: "output-error",
    errorText: expect.stringContaining("The shelf is empty.") as string,
  });
});

test("streamText keeps a turn as generateText does", async () => {
  const { stub } = newAgent();
  const reply = await runInDurableObject(stub, async (agent): Promise<UIMessage | null> => {
    const session = Session.create(agent).forSession("streamed!100000");
    await session.appendAll([say(0), { id: "reply", role: "assistant", parts: [] }]);
    const kept = keepTurn(session, { replyId: "reply", tools });
    const result = streamText({ model: looker(4), tools, prompt: "-", stopWhen: isStepCount(9), ...kept });
    await result.consumeStream();
    return session.getMessage("reply");
  });
  expect(reply?.parts.map((part) => part.type).filter((type) => type !== "step-start")).toEqual([
    ...Array.from({ length: 4 }, () => "tool-look"),
    "text",
  ]);
});

test("a crash in the middle of a turn loses the step under way and nothing else; a new turn goes on from there", async () => {
  const { stub } = newAgent();
  const crashed = runInDurableObject(stub, async (agent) => {
    const model = looker(9, async (step) => {
      if (step === 5) throw new Error("The process died.");
    });
    await turn(Session.create(agent).forSession("crash!100000"), model);
  });
  await expect(crashed).rejects.toThrow("The process died.");
  await evictDurableObject(stub);
  const { view, prompt } = await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("crash!100000");
    const model = looker(0);
    const kept = keepTurn(session, { replyId: "reply", tools });
    await generateText({ model, tools, prompt: "-", stopWhen: isStepCount(9), ...kept });
    return { view: await session.getView(), prompt: model.doGenerateCalls[0]!.prompt };
  });
  expectPaired(prompt);
  expect(prompt).toHaveLength(1 + 2 * 5);
  expect(view.messages[1]?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
});

test("what a provider counted of each step is held against the view that this step was sent", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("counted!100000");
    await turn(session, looker(4));
    const [usage] = await session.getUsage();
    expect(usage).toMatchObject({ model: "mock-provider:looker", calls: 5, outputTokens: 50 });
    expect(usage?.inputTokens).toBe(1_000 + 1_100 + 1_200 + 1_300 + 1_400);
    // The last prompt was counted at 1,400, and its answer was added to that.
    const { viewTokens } = await session.status();
    expect(viewTokens).toBeGreaterThan(1_400);
    expect(viewTokens).toBeLessThan(1_420);
  });
});

test("a provider that goes down in the middle of a turn costs it a reminder, and whoever asked is told", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    let isDown = false;
    const reported: string[] = [];
    const day = async () => (isDown ? Promise.reject(new Error("The store is down.")) : "Friday");
    const session = Session.create(agent)
      .forSession("down!100000")
      .withContext("today", { whenChanged: "remind", provider: { get: day } })
      .onToolError(({ code }) => void reported.push(code));
    await session.freezeSystemPrompt();
    const model = looker(4, async (step) => void (isDown = step >= 2));
    await turn(session, model);
    // It stays where it was told first, so that the next prompt begins with this one.
    const prompts = model.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt));
    expect(prompts.map((message) => message.includes("could not be read just now"))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
    expect(reported).toEqual(["provider_failed", "provider_failed"]);
    expect((await session.getMessage("reply"))?.parts.at(-1)).toMatchObject({ text: "Done." });
  });
});

test("a block that changed since the prompt was frozen is told at the end of the view, and not stored", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("told").withContext("memory", { whenChanged: "remind" });
    await session.appendAll(talk(0, 2));
    await session.freezeSystemPrompt();
    const before = await viewBeforeStep(session)();
    await session.replaceContextBlock("memory", "The user prefers tables.");
    const after = await viewBeforeStep(session)();
    expect(after.messages.slice(0, -1)).toEqual(before.messages);
    expect(JSON.stringify(after.messages.at(-1))).toContain("The user prefers tables.");
    expect(await session.getPathLength()).toBe(2);
  });
});
