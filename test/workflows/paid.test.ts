/** A summariser's output is bounded, and its cost is on the bill, useful or not. */
import { afterEach, expect, test, vi } from "vitest";
import { MAX_WASTED_CALLS, MODEL_CALL_MS, MODEL_STEP_MS } from "../../src/limits.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { settle, withPolicy } from "../agent/runs.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { talk } from "../conversation.ts";
import { noting, ofKind, rest, sayWithNotes, SESSION } from "../noted.ts";
import { summaryOf, type Answer, type Script } from "../scripted-model.ts";

skipRetryDelays();
afterEach(() => {
  vi.useRealTimers();
});

const ENDLESS: Answer = { text: "and so on, ".repeat(1_000_000), finishReason: "stop", usage: null };

/** Why answers of a run were refused. */
function problems({ steps }: RunRecord): ReadonlySet<string> {
  return new Set(steps.flatMap(({ refused }) => refused?.problems ?? []));
}

test("an answer of ten megabytes is not read to its end: the run goes down the ladder with a typed reason, and its calls are on the bill (R1)", async () => {
  const { agent, calls } = newAgent(() => ENDLESS);
  const ended = await agent.waitForRun({ runId: (await startRun(agent, "wide!6000", 56)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  // The chunk and its two halves, each with one repair.
  expect(calls.length).toBe(2 * MAX_WASTED_CALLS);
  expect(problems(ended)).toContain("endless");
  const health = await agent.health({ sessionId: "wide!6000" });
  expect(ended.modelCalls).toBe(calls.length);
  expect(ended.inputTokens).toBeGreaterThan(1_000);
  expect(ended.outputTokens).toBeGreaterThan(0);
  expect(ended.estimatedTokens).toBe(ended.inputTokens + ended.outputTokens);
  expect(health.spend.sessionTokens).toBe(ended.estimatedTokens);
});

test("an update of notes that never ends is read no further either, and the version before stays (R1)", async () => {
  let endless = false;
  const { agent, calls } = newAgent((...asked) => (endless ? ENDLESS : noting(...asked)));
  await sayWithNotes(agent);
  await rest(agent);
  endless = true;
  const before = calls.length;
  await agent.refreshNotes({ sessionId: SESSION });
  const [update] = ofKind(await rest(agent), "notes");
  expect(update?.outcome?.kind).not.toBe("noted");
  expect(update === undefined ? [] : problems(update)).toContain("endless");
  expect(update?.modelCalls).toBe(calls.length - before);
  expect(update?.modelCalls).toBe(2);
  expect((await agent.getNotes({ sessionId: SESSION }))?.n).toBe(1);
});

const WASTED: readonly (readonly [string, Answer])[] = [
  ["is empty", { text: "", finishReason: "stop" }],
  ["is blank", { text: " \n", finishReason: "stop" }],
  ["is stopped by a filter", { text: "Some of", finishReason: "content-filter" }],
  ["is broken off", { text: "Some of", finishReason: "error" }],
  ["is cut off", { text: "## Goal\nSome of", finishReason: "length" }],
  ["calls a tool", { toolName: "bash" }],
  ["refuses", "I'm sorry, I cannot help with that."],
];

test.each(WASTED)("each answer that %s is on the bill, as its provider counts it", async (_what, answer) => {
  const { agent, calls } = newAgent(() => answer);
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(calls.length).toBeGreaterThan(0);
  expect(ended).toMatchObject({
    modelCalls: calls.length,
    inputTokens: 100 * calls.length,
    outputTokens: 10 * calls.length,
    estimatedTokens: 0,
  });
  expect((await agent.health({})).spend).toEqual({
    sessionTokens: 110 * calls.length,
    dayTokens: 110 * calls.length,
  });
});

test.each(WASTED)("a budget is spent by answers of which each %s", async (_what, answer) => {
  const { agent, calls } = await withPolicy(() => answer, { budget: { sessionTokens: 50 } });
  await agent.appendAll({ messages: talk(0, 17) });
  await settle(agent);
  const paid = calls.length;
  expect(paid).toBeGreaterThan(0);
  // Past the cooldown of a breaker that these answers may have opened.
  vi.setSystemTime(Date.now() + 120_000);
  const { run } = await agent.compact({});
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({
    kind: "nothing",
    reason: "budget-spent",
  });
  expect(calls).toHaveLength(paid);
});

const ODD: readonly (readonly [string, readonly [number, number] | null])[] = [
  ["reports nothing", null],
  ["reports more than there is", [1e308, 1e308]],
  ["reports no number", [Number.NaN, Number.POSITIVE_INFINITY]],
  ["reports less than nothing", [-1_000_000, -5]],
  ["reports nothing for something", [0, 0]],
  ["reports parts of tokens", [0.5, 1.5]],
];

test.each(ODD)("what a call cost is estimated, and marked as such, where its provider %s", async (_what, usage) => {
  const { agent, calls } = newAgent((prompt) => ({ text: summaryOf(prompt, "done"), finishReason: "stop", usage }));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended).toMatchObject({ outcome: { kind: "applied", degraded: false }, modelCalls: calls.length });
  expect(ended.inputTokens).toBeGreaterThan(500);
  expect(ended.inputTokens).toBeLessThan(10_000);
  expect(ended.outputTokens).toBeGreaterThan(5);
  expect(ended.outputTokens).toBeLessThan(1_000);
  const tokens = ended.inputTokens + ended.outputTokens;
  expect(ended.estimatedTokens).toBe(tokens);
  const health = await agent.health({});
  expect(health).toMatchObject({ spend: { sessionTokens: tokens, dayTokens: tokens }, spentTokens: tokens });
  expect(health.runs).toMatchObject([{ spentTokens: tokens, estimatedTokens: tokens }]);
});

test("a call that a provider refused before it wrote costs nothing", async () => {
  const { agent } = newAgent(() => {
    throw Object.assign(new Error("connection refused"));
  });
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended).toMatchObject({ modelCalls: 0, inputTokens: 0, outputTokens: 0, estimatedTokens: 0 });
});

/** Each call takes so long. Moves the date alone, so no timer fires. */
function slow(ms: number): Script {
  return () => {
    vi.setSystemTime(Date.now() + ms);
    throw new DOMException("The model took too long.", "TimeoutError");
  };
}

test("a model that hangs is asked for as long as a step may take in all, whatever tries are left; then an extractive summary stands in (R1)", async () => {
  vi.setSystemTime(Date.now());
  const { agent, calls } = newAgent(slow(MODEL_CALL_MS));
  const began = Date.now();
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(calls.length).toBe(Math.ceil(MODEL_STEP_MS / MODEL_CALL_MS));
  expect(Date.now() - began).toBeLessThan(MODEL_STEP_MS + MODEL_CALL_MS);
  const step = ended.steps.find(({ name }) => name.startsWith("summarize"));
  expect(step).toMatchObject({ failure: { code: "timeout" }, askedMs: MODEL_CALL_MS * calls.length });
  expect(step?.failure?.reason).toContain("5 minutes");
  // Some providers may charge for an aborted call, so it is counted.
  expect(ended.modelCalls).toBe(calls.length);
  expect(ended.estimatedTokens).toBeGreaterThan(0);
});
