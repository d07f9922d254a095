/** A bound on the messages of a view. It starts runs as the threshold does, and never one after the other in vain. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import type { CompactAfterOptions } from "../../../src/agent/settings.ts";
import { newAgent, refusalOf, skipRetryDelays, stubOf } from "../../agents.ts";
import { makeGate, openGates, summaryOf, type Script } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { kinds, settle } from "../runs.ts";

skipRetryDelays();

const BOUND = 12;
/** Short, because it takes the place of few words. */
const sound: Script = () => "## Goal\nAll of `src` was noted.";

/** Short messages: hundreds of them do not come near the threshold. */
function few(n: number): UIMessage {
  const text = `Note ${n}: the part with number ${n} is done and src/part-${n}.ts holds what was said about it then.`;
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}

function fewTo(from: number, to: number): UIMessage[] {
  return Array.from({ length: to - from }, (_, index) => few(from + index));
}

async function bound(script: Parameters<typeof newAgent>[0], options: CompactAfterOptions = {}) {
  const made = newAgent(script);
  await configure(made.stub, { maxMessages: BOUND, ...options });
  return made;
}

async function configure(stub: ReturnType<typeof newAgent>["stub"], options: CompactAfterOptions): Promise<void> {
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    Session.create(instance).compactAfter(60_000, options);
  });
}

test("a conversation of short messages is compacted by their number, keeps every message, and its view stays within the bound", async () => {
  const { agent } = await bound(sound);
  for (let n = 0; n < 60; n++) {
    await agent.append({ message: few(n) });
    const { waiting, viewMessages } = await agent.status({});
    if (viewMessages > BOUND) expect(waiting).toMatchObject({ reason: "run-in-flight" });
    await settle(agent);
    expect((await agent.status({})).viewMessages).toBeLessThanOrEqual(BOUND);
  }
  const runs = await settle(agent);
  expect(runs.length).toBeGreaterThan(3);
  // Each run follows at least so many new messages.
  expect(runs.length).toBeLessThanOrEqual(60 / 4);
  expect(runs.every(({ trigger, outcome }) => trigger === "messages" && outcome?.kind === "applied")).toBe(true);
  expect((await agent.getView({})).elements.length).toBe((await agent.status({})).viewMessages);
  expect(await agent.getPathLength({})).toBe(60);
  expect(await agent.getMessage({ id: "m7" })).toEqual(few(7));
});

test("plan and status name the bound and the size, and needsCompaction answers as the trigger would", async () => {
  const { agent, stub } = newAgent(sound);
  await configure(stub, {});
  await agent.appendAll({ messages: fewTo(0, 30) });
  expect(await agent.needsCompaction({})).toBe(false);
  expect(await agent.status({})).toMatchObject({ viewMessages: 30, maxMessages: null });
  await configure(stub, { maxMessages: BOUND });
  expect(await agent.status({})).toMatchObject({ viewMessages: 30, maxMessages: BOUND, waiting: null });
  expect(await agent.needsCompaction({})).toBe(true);
  const { lines, plan } = await agent.plan({});
  expect(lines[0]).toContain("in 30 elements; the threshold is 60000, and at most 12 messages and summaries");
  expect(plan).toMatchObject({ kind: "span" });
  expect(await agent.runs({})).toEqual([]);
  const gate = makeGate();
  const held = await bound(async (prompt) => (await gate.pass(), sound(prompt, 0, "")));
  await held.agent.appendAll({ messages: fewTo(0, BOUND + 1) });
  expect(await held.agent.needsCompaction({})).toBe(false);
  openGates();
  await settle(held.agent);
  await configure(held.stub, { maxMessages: BOUND });
  expect((await held.agent.plan({})).lines.join(" ")).toContain("under-threshold");
});

test("a run that cannot lower the number is not followed by another at each append", async () => {
  const { agent, stub } = newAgent();
  let asked = 0;
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    Session.create(instance)
      .compactAfter(1_000_000, { maxMessages: BOUND })
      .onCompaction(() => {
        asked++;
        return null;
      });
  });
  for (let n = 0; n < 200; n++) {
    await agent.append({ message: few(n) });
    await settle(agent);
  }
  // The required growth is two messages, and doubles after each run that was in vain.
  expect(asked).toBeLessThanOrEqual(8);
  expect(asked).toBeGreaterThan(1);
  expect(await agent.status({})).toMatchObject({ waiting: { detail: expect.stringContaining("messages on") } });
});

test("summaries larger than the few words they replace are refused, and asked for less and less often", async () => {
  const { agent, calls } = await bound((prompt) => summaryOf(prompt, "done ".repeat(2_000)));
  for (let n = 0; n < 60; n++) {
    const message: UIMessage = {
      id: `m${n}`,
      role: n % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: "ok" }],
    };
    await agent.append({ message });
    await settle(agent);
  }
  const runs = await settle(agent);
  expect(runs.length).toBeLessThanOrEqual(6);
  expect(calls.length).toBeLessThanOrEqual(6 * 4);
});

test("an append writes one row with the bound as without, and reads none", async () => {
  const { stub } = await bound(sound);
  const cost = (n: number) =>
    runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const { rowsRead, rowsWritten } = instance.palimpsest.db.meter;
      await Session.create(instance).appendMessage(few(n));
      const { meter } = instance.palimpsest.db;
      return { read: meter.rowsRead - rowsRead, written: meter.rowsWritten - rowsWritten };
    });
  await cost(0);
  for (let n = 1; n < BOUND - 1; n++) expect(await cost(n)).toEqual({ read: 0, written: 1 });
});

test("a compaction by number that a person undid does not come back, and neither does one after a restart", async () => {
  const { agent, stub, name } = await bound(sound);
  await agent.appendAll({ messages: fewTo(0, BOUND + 1) });
  const [run] = await settle(agent);
  const outcome = run?.outcome;
  if (outcome?.kind !== "applied") throw new Error(`It ended as ${outcome?.kind}.`);
  await agent.rollback({ overlayId: outcome.overlayId });
  expect(await agent.status({})).toMatchObject({ viewMessages: BOUND + 1, waiting: { reason: "too-small" } });
  await agent.append({ message: few(100) });
  await evictDurableObject(stub);
  await configure(stub, { maxMessages: BOUND });
  const again = stubOf(name);
  await again.append({ message: few(101) });
  expect(kinds(await again.runs({}))).toEqual(["applied"]);
  await again.append({ message: few(102) });
  expect(kinds(await settle(again))).toEqual(["applied", "applied"]);
});

test("where the tokens wait for growth, the messages may start a run", async () => {
  const { agent, stub } = newAgent(sound);
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    Session.create(instance).compactAfter(4_000, { maxMessages: BOUND });
  });
  await agent.appendAll({ messages: fewTo(0, BOUND + 1).map((each) => withWords(each, 350)) });
  const [run] = await settle(agent);
  await agent.rollback({ overlayId: run?.outcome?.kind === "applied" ? run.outcome.overlayId : "" });
  const { viewTokens, thresholdTokens } = await agent.status({});
  expect(viewTokens).toBeGreaterThan(thresholdTokens ?? Number.POSITIVE_INFINITY);
  for (let n = 100; n < 106; n++) await agent.append({ message: withWords(few(n), 0) });
  expect((await settle(agent)).map(({ trigger }) => trigger)).toEqual(["threshold", "messages"]);
});

function withWords(message: UIMessage, words: number): UIMessage {
  return { ...message, parts: [{ type: "text", text: `Yes${" and".repeat(words)}.` }] };
}

test("a bound that leaves nothing to compact is invalid_options before anything is stored", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance);
    for (const maxMessages of [0, 6, 2.5, -3, 4_001]) {
      expect(await refusalOf(async () => session.compactAfter(60_000, { maxMessages }))).toContain("invalid_options");
    }
    expect((await session.status()).maxMessages).toBeNull();
  });
});
