/** A run ends while its model is still answering. The call is on the bill all the same. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { STAND_IN_NAME } from "../../src/extractive/extract.ts";
import { PROMPT_OVERHEAD_TOKENS } from "../../src/limits.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { settle, withPolicy } from "../agent/runs.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { noting, SESSION } from "../noted.ts";
import { rowsOf } from "../rows.ts";
import { makeGate, openGates, summaryOf, type Gate, type Script } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

const behind =
  (gate: Gate, script: Script = (prompt) => summaryOf(prompt, "done")): Script =>
  async (...asked) => {
    await gate.pass();
    return script(...asked);
  };

function gated() {
  const gate = makeGate();
  return { gate, ...newAgent(behind(gate)) };
}

function costOf({ inputTokens, outputTokens }: RunRecord): number {
  return inputTokens + outputTokens;
}

test("a budget holds against whoever starts runs and cancels them while the model answers", async () => {
  let gate = makeGate();
  const { agent, calls } = await withPolicy(async (prompt) => behind(gate)(prompt, 0, ""), {
    budget: { sessionTokens: 1 },
  });
  await agent.appendAll({ messages: talk(0, 13) });
  for (let n = 0; n < 4; n++) {
    gate = makeGate();
    const { run } = await agent.compact({});
    if (run.outcome === null) await gate.reached();
    await agent.cancelRun({ runId: run.id });
    gate.open();
  }
  const runs = await settle(agent);
  expect(runs.map(({ outcome }) => outcome)).toMatchObject([
    { kind: "cancelled" },
    ...Array.from({ length: 3 }, () => ({ kind: "nothing", reason: "budget-spent" })),
  ]);
  expect(calls).toHaveLength(1);
});

test("a cancelled call is billed once, by estimate, to its step, its run, its session and its day", async () => {
  const { agent, gate } = gated();
  const { id: runId } = await startRun(agent);
  await gate.reached();
  const asking = await agent.getRun({ runId });
  expect(asking).toMatchObject({ modelCalls: 0, inputTokens: 0 });
  const cancelled = await agent.cancelRun({ runId });
  expect(cancelled.modelCalls).toBe(1);
  expect(cancelled.inputTokens).toBeGreaterThan(PROMPT_OVERHEAD_TOKENS + 1_000);
  expect(cancelled.estimatedTokens).toBe(costOf(cancelled));
  const { inputTokens, outputTokens, estimatedTokens } = cancelled;
  expect(cancelled.steps.at(-1)).toMatchObject({ calls: 1, inputTokens, outputTokens, estimatedTokens });
  gate.open();
  expect(await agent.getRun({ runId })).toEqual(cancelled);
  const tokens = costOf(cancelled);
  expect((await agent.health({})).spend).toEqual({ sessionTokens: tokens, dayTokens: tokens });
});

test.each(["clearMessages", "deleteSession"] as const)(
  "a call that %s overtakes is on the day's bill, and nothing of its answer is stored (S2)",
  async (forget) => {
    const { agent, stub, gate } = gated();
    await startRun(agent, "gone");
    await gate.reached();
    await agent[forget]({ sessionId: "gone" });
    gate.open();
    expect((await agent.health({ sessionId: "other" })).spend.dayTokens).toBeGreaterThan(1_000);
    await runInDurableObject(stub, (_: PalimpsestAgent, { storage }) => {
      expect(rowsOf(storage, "palimpsest_drafts")).toEqual([]);
    });
  },
);

test("an update of notes that is cancelled while its model answers is on the bill", async () => {
  const gate = makeGate();
  const { agent } = newAgent(behind(gate, noting));
  await agent.appendAll({ sessionId: SESSION, messages: talk(0, 8) });
  await gate.reached();
  const [update] = await agent.runs({ sessionId: SESSION });
  const cancelled = await agent.cancelRun({ runId: update?.id ?? "" });
  expect(cancelled).toMatchObject({ kind: "notes", modelCalls: 1 });
  const { spend } = await agent.health({ sessionId: SESSION });
  expect(spend.sessionTokens).toBe(costOf(cancelled));
  expect(spend.sessionTokens).toBeGreaterThan(PROMPT_OVERHEAD_TOKENS);
});

test("a split with a focus, in place of a run whose model answers, has both calls on the bill", async () => {
  const { agent, calls, gate } = gated();
  await startRun(agent);
  await gate.reached();
  const { run } = await agent.compactAndSplit({ focus: "the ledger" });
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "split" });
  const paid = (await agent.runs({})).reduce((sum, { modelCalls }) => sum + modelCalls, 0);
  expect(paid).toBe(calls.length);
});

const STEP = { step: "summarize 1 of 1 · of a test", attempt: 1 };

test("nothing is billed where no model was asked: for an extractive summary, and for a source that had changed", async () => {
  const { agent, stub, gate } = gated();
  const { id: runId } = await startRun(agent);
  await gate.reached();
  const read = (model: string) =>
    runInDurableObject(stub, (instance: PalimpsestAgent) =>
      instance.compactionStep(runId, "readChunk", [
        { ...STEP, step: model },
        { index: 0, model },
      ]),
    );
  expect(await read(STAND_IN_NAME)).toMatchObject({ kind: "source" });
  await agent.update({ message: say(3, "Changed. ") });
  expect(await read("another model")).toMatchObject({ kind: "ended", outcome: { kind: "stale", reason: "changed" } });
  const { modelCalls, steps } = await agent.getRun({ runId });
  expect(modelCalls).toBe(1);
  expect(steps.filter(({ calls }) => calls > 0)).toHaveLength(1);
});

test("a call that failed before it began costs nothing, also where the engine began its step anew", async () => {
  const { agent, stub, gate } = gated();
  const { id: runId } = await startRun(agent);
  await gate.reached();
  const failure = { model: "another", code: "network", reason: "down", cost: null, tookMs: 1, waitMs: 0 };
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    // A restart of the instance counts attempts from 1 again.
    for (const answerId of ["one", "two"]) {
      await instance.compactionStep(runId, "readChunk", [STEP, { index: 0, model: "another" }]);
      await instance.compactionStep(runId, "noteFailure", [STEP, { ...failure, answerId }]);
    }
  });
  expect(await agent.cancelRun({ runId })).toMatchObject({ modelCalls: 1 });
});
