/** A session's view that always fits, however compaction goes and however the provider counts. */
import { Session } from "../../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { convertToModelMessages, isToolUIPart, type UIMessage } from "ai";
import { afterEach, expect, test } from "vitest";
import type { Fitted } from "../../../src/agent/sessions/shown-view.ts";
import { repairMessages } from "../../../src/steps/view/repair.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../../agents.ts";
import { talk, textOf } from "../../conversation.ts";
import { makeGate, openGates } from "../../scripted-model.ts";

skipRetryDelays();
afterEach(openGates);

/** A question, and its answer by a tool with a long output. Every tenth call fails. */
function exchange(n: number): UIMessage[] {
  const call = { type: "tool-look" as const, toolCallId: `c${n}`, input: { n } };
  const output = `Result ${n}: ${"a line of the log. ".repeat(120)}`;
  return [
    { id: `u${n}`, role: "user", parts: [{ type: "text", text: `Question ${n}: what does the log say?` }] },
    {
      id: `a${n}`,
      role: "assistant",
      parts: [
        n % 10 === 3
          ? { ...call, state: "output-error", errorText: `EPIPE ${n}: the pipe is broken` }
          : { ...call, state: "output-available", output },
        { type: "text", text: `Answer ${n}.` },
      ],
    },
  ];
}

/** What must be true of a view that a provider is to take. */
async function expectValid(messages: UIMessage[]): Promise<void> {
  expect(repairMessages(messages)).toBe(messages);
  await convertToModelMessages(messages);
}

test("the summariser hangs and the user talks on: every view is under the limit, valid, and says what was left out", async () => {
  const gate = makeGate();
  const { stub } = newAgent(async () => {
    await gate.pass();
    return "never";
  });
  const maxTokens = 3_000;
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("hangs!2000");
    const kinds = new Set<string>();
    let failed = 0;
    for (let n = 0; n < 100; n++) {
      for (const message of exchange(n)) {
        await session.appendMessage(message);
        if (n % 10 === 3 && message.role === "assistant") failed++;
        const { messages, tokens, fitted } = await session.getView({ maxTokens });
        expect(fitted?.promptTokens).toBeLessThanOrEqual(maxTokens);
        expect(tokens).toBe(fitted?.promptTokens);
        await expectValid(messages);
        const shown = textOf(messages);
        expect(shown).toContain(`Question ${n}: what does the log say?`);
        if (fitted?.kind === "reduced") for (const step of fitted.steps) kinds.add(step.what);
        // Each failure is there in its words, or counted where it is not.
        const told = messages.flatMap(({ parts }) => parts.filter((part) => "errorText" in part)).length;
        const counted = [...shown.matchAll(/(\d+) failed tool calls? among them/g)];
        expect(told + counted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(failed);
      }
    }
    expect([...kinds].toSorted()).toEqual(["oldest-summarized", "tool-outputs"]);
    expect((await session.status()).liveRunIds).toHaveLength(1);
    // Nothing of that is stored (M1).
    const stored = await Promise.all(["a3", "a50", "u99"].map((id) => session.getMessage(id)));
    expect(stored).toEqual([exchange(3)[1], exchange(50)[1], exchange(99)[0]]);
    expect(await session.getPathLength()).toBe(200);
  });
});

/** As a provider does that counts twice as much, and a system prompt. */
function counted(tokens: number): number {
  return 1_500 + 2 * tokens;
}

test("a limit is held against what the provider counts: its ratio, and what the prompt carries beside the view", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("counts!100000");
    const maxTokens = 6_000;
    for (let n = 0; n < 60; n++) {
      await session.appendAll(exchange(n));
      const { tokens, fitted } = await session.getView({ maxTokens });
      expect(fitted?.promptTokens).toBeLessThanOrEqual(maxTokens);
      // The first calls are only estimated. See src/steps/tokens/calibrate.ts.
      if (n > 20) expect(counted(tokens)).toBeLessThan(maxTokens * 1.05);
      if (n > 20) expect(fitted?.kind).toBe("reduced");
      await session.recordUsage({ inputTokens: counted(tokens), viewTokens: tokens });
    }
    // The system prompt alone is over the limit. The view is the least possible, says so, and raises no error in the middle of a turn.
    await session.recordUsage({ inputTokens: 50_000, viewTokens: 10 });
    const { tokens, fitted } = await session.getView({ maxTokens });
    expect(tokens).toBeLessThanOrEqual(64);
    expect(fitted?.promptTokens).toBeGreaterThan(maxTokens);
    // A turn that was told no limit does not take that for the messages' fault.
    expect((await session.getView({ maxTokens: session.turnTokens })).fitted?.kind).toBe("whole");
  });
});

test("a fitted view reads the rows that a plain one reads, and what fits is handed out as it is", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("rows!100000");
    await session.appendAll(talk(0, 60));
    const { meter } = agent.palimpsest.db;
    const rows = async (read: () => Promise<unknown>): Promise<number> => {
      const before = meter.rowsRead;
      await read();
      return meter.rowsRead - before;
    };
    await session.getView({ maxTokens: 500 });
    const plain = await rows(() => session.getView());
    expect(plain).toBeGreaterThan(0);
    expect(await rows(() => session.getView({ maxTokens: 500 }))).toBe(plain);
    const { fitted, ...whole } = await session.getView({ maxTokens: 100_000 });
    expect(fitted).toEqual({ kind: "whole", promptTokens: whole.tokens });
    expect(whole).toEqual(await session.getView());
    expect(await session.getView("m9")).toEqual(await session.getView({ leafId: "m9" }));
  });
});

test("over RPC: the same options, refusals that say what to send, and what comes back is never stored", async () => {
  const { agent } = newAgent();
  const sessionId = "rpc!100000";
  await agent.appendAll({ sessionId, messages: Array.from({ length: 20 }, (_, n) => exchange(n)).flat() });
  const { messages, fitted } = await agent.getView({ sessionId, maxTokens: 1_500 });
  expect((fitted as Fitted).kind).toBe("reduced");
  const receipts = await agent.appendAll({ sessionId, messages: structuredClone(messages) });
  expect(receipts.every((receipt) => !receipt.inserted)).toBe(true);
  expect(await agent.getPathLength({ sessionId })).toBe(40);
  const truncated = await agent.getView({ sessionId, truncate: true });
  expect(truncated.messages).toHaveLength(40);
  expect(textOf(truncated.messages)).toContain("Run the tool again");
  expect(truncated.tokens).toBeLessThan((await agent.getView({ sessionId })).tokens / 2);
  expect(await refusalOf(() => agent.getView({ maxTokens: "many" as never }))).toMatch(/^\[invalid_input\] maxTokens/);
  expect(await refusalOf(() => agent.getView({ maxTokens: 63 }))).toMatch(/^\[invalid_options\] maxTokens is 63/);
  expect(await refusalOf(() => agent.getView({ truncate: { step: 0 } }))).toMatch(/^\[invalid_options\] step is 0/);
});

test.each([{ truncate: true }, { maxTokens: 3_000 }])(
  "what a view shortened replaces no original, by whatever call a client sends it back: %j (M1)",
  async (options) => {
    const { agent } = newAgent();
    const sessionId = "echoed!100000";
    await agent.appendAll({ sessionId, messages: Array.from({ length: 20 }, (_, n) => exchange(n)).flat() });
    const stored = async (): Promise<string> =>
      JSON.stringify((await agent.getHistory({ sessionId })).map(({ parts }) => parts.filter(isToolUIPart)));
    const before = await stored();
    const { messages } = await agent.getView({ sessionId, ...options });
    const refusals = new Set<string>();
    for (const message of structuredClone(messages)) {
      for (const call of [() => agent.upsert({ sessionId, message }), () => agent.update({ sessionId, message })])
        await call().catch((error: unknown) => refusals.add(String(error)));
    }
    expect(await stored()).toBe(before);
    // Without a limit every message keeps its id.
    expect(refusals.size > 0 || "maxTokens" in options).toBe(true);
    expect([...refusals].filter((told) => !told.includes("[reserved_"))).toEqual([]);
  },
);

const isMarked = ({ id, metadata }: UIMessage) => id.startsWith("palimpsest:") || metadata !== undefined;

test("what a plain view repaired replaces no original when it is sent back, and what it did not change is stored as before (M1)", async () => {
  const { agent } = newAgent();
  const call = { type: "tool-look" as const, toolCallId: "c", input: {} };
  const messages: UIMessage[] = [
    { id: "s", role: "system", parts: [{ type: "text", text: "Be brief." }] },
    { id: "u1", role: "user", parts: [{ type: "text", text: "Half \ud800 a pair" }] },
    {
      id: "a1",
      role: "assistant",
      parts: [
        { type: "text", text: "I look." },
        { ...call, state: "input-available" },
      ],
    },
    { id: "u2", role: "user", parts: [{ type: "text", text: "And?" }] },
    { id: "a2", role: "assistant", parts: [{ ...call, state: "approval-requested", approval: { id: "p" } }] },
    { id: "u3", role: "user", parts: [{ type: "text", text: "Go on." }] },
    {
      id: "a3",
      role: "assistant",
      parts: [
        { type: "text", text: " " },
        { ...call, type: "tool-a name.with dots", state: "output-error", errorText: "" },
        { type: "text", text: "It failed." },
      ],
    },
    { id: "u4", role: "user", parts: [{ type: "text", text: "Well." }] },
  ];
  await agent.appendAll({ messages });
  for (const apart of [false, true]) {
    const view = structuredClone((await agent.getView({ apart })).messages);
    expect(view.filter((message) => !isMarked(message)).map(({ id }) => id)).toEqual(
      apart ? ["s", "u2", "u3", "u4"] : ["u2", "u3", "u4"],
    );
    for (const message of view) {
      // One under an id of ours is taken for an echo, which is not stored either.
      const refused = await refusalOf(() => agent.upsert({ message }));
      expect(refused).toMatch(message.metadata === undefined ? /^$/ : /^\[reserved_metadata\]/);
    }
    expect(await Promise.all(messages.map(async ({ id }) => agent.getMessage({ id })))).toEqual(messages);
  }
});

test("an oversized tool output is shown as its two ends with a note where the whole is, and stored byte for byte (M1)", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("previews!1000000").previewToolOutputs({ maxBytes: 8_000 });
    const output = `first ${"灯台 ".repeat(3_000)} last`;
    const look = { type: "tool-look" as const, toolCallId: "c", state: "output-available" as const, input: {}, output };
    const big: UIMessage = { id: "big", role: "assistant", parts: [look] };
    const small: UIMessage = { id: "small", role: "assistant", parts: [{ ...look, toolCallId: "d", output: "fine" }] };
    await session.appendAll([...talk(0, 1), big, small]);
    const { messages, tokens } = await session.getView();
    const [part] = messages[1]!.parts as { output: string }[];
    expect(part?.output).toMatch(
      /^first [^]*last\n\[A preview: the output has 21 KB\. All of it is stored in message "big"\. Run the tool again/,
    );
    expect(new TextEncoder().encode(part?.output).length).toBeLessThan(8_000);
    expect(messages[2]).toEqual(small);
    expect(tokens).toBeLessThan((await session.status()).viewTokens / 3);
    expect(await session.getMessage("big")).toEqual(big);
    expect(() => session.previewToolOutputs({ maxBytes: 10 })).toThrow("[invalid_options]");
  });
});
