/** A run ends while its model is still answering. The call is on the bill all the same. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { STAND_IN_NAME } from "../../src/steps/draft/fallback.ts";
import { PROMPT_OVERHEAD_TOKENS } from "../../src/limits.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { settle, withPolicy } from "../agent/runs.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun } from "../agents.ts";
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

const STEP = { step: "summarize · of a test", attempt: 1 };

test("nothing is billed where no model was asked: for an extractive summary, and for a source that had changed", async () => {
  const { agent, stub, gate } = gated();
  const { id: runId } = await startRun(agent);
  await gate.reached();
  const read = (model: string) =>
    runInDurableObject(stub, (instance: PalimpsestAgent) =>
      instance.compactionStep(runId, "read", [
        { ...STEP, step: model },
        { kind: "chunk", index: 0, model },
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
      await instance.compactionStep(runId, "read", [STEP, { kind: "chunk", index: 0, model: "another" }]);
      await instance.compactionStep(runId, "noteFailure", [STEP, { ...failure, answerId }]);
    }
  });
  expect(await agent.cancelRun({ runId })).toMatchObject({ modelCalls: 1 });
});

test("a late report of an attempt that was given up leaves the present call on the bill", async () => {
  const { agent, stub, gate } = gated();
  const { id: runId } = await startRun(agent);
  await gate.reached();
  const cost = { inputTokens: 7, outputTokens: 0, estimatedTokens: 0 };
  const failure = { model: "another", code: "network", reason: "down", cost, answerId: "one", tookMs: 1, waitMs: 0 };
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    for (const attempt of [1, 2]) {
      await instance.compactionStep(runId, "read", [
        { ...STEP, attempt },
        { kind: "chunk", index: 0, model: "another" },
      ]);
    }
    await instance.compactionStep(runId, "noteFailure", [STEP, failure]);
  });
  // The gated call, the late one and the present one.
  expect(await agent.cancelRun({ runId })).toMatchObject({ modelCalls: 3 });
});

/** The watchdog finds that the engine gave the instance up. */
function restart(instance: PalimpsestAgent): Promise<void> {
  const { platform } = instance.palimpsest;
  const own = platform.instance.bind(platform);
  const now = platform.now.bind(platform);
  platform.now = () => now() + 60_000;
  platform.instance = async (id) => {
    const real = await own(id);
    return { ...real, status: async () => ({ status: "errored", error: "died" }), restart: () => real.restart() };
  };
  return instance.watchCompactions().finally(() => Object.assign(platform, { instance: own, now }));
}

test.each(["a restart by the watchdog", "a step that is repeated by hand"])(
  "%s leaves the call that it interrupts on the bill",
  async (what) => {
    let gate = makeGate();
    const { agent, stub, calls } = newAgent(async (prompt) => behind(gate)(prompt, 0, ""));
    const { id: runId } = await startRun(agent);
    for (let n = 1; n <= 2; n++) {
      await gate.reached();
      gate = makeGate();
      const stepName =
        (await agent.getRun({ runId })).steps.find(({ name }) => name.startsWith("summarize"))?.name ?? "";
      if (what.startsWith("a step")) await agent.retryRunFrom({ runId, stepName });
      else await runInDurableObject(stub, restart);
    }
    await gate.reached();
    expect(calls).toHaveLength(3);
    expect(await agent.cancelRun({ runId })).toMatchObject({ modelCalls: 3 });
  },
);

test("no step is repeated by hand once the budget is spent, and the run ends as it would have", async () => {
  const gate = makeGate();
  const { agent, calls } = await withPolicy(behind(gate), { budget: { sessionTokens: 1 } });
  await agent.appendAll({ messages: talk(0, 17) });
  await gate.reached();
  const [run] = await agent.runs({});
  const again = { runId: run?.id ?? "", stepName: run?.steps.at(-1)?.name ?? "" };
  // The first answer is not on the bill yet, and the interrupted call spends the budget.
  await agent.retryRunFrom(again);
  expect(await refusalOf(() => agent.retryRunFrom(again))).toMatch(/\[invalid_state\].*budget.sessionTokens/);
  gate.open();
  expect((await settle(agent)).at(-1)?.outcome).toMatchObject({ kind: "applied" });
  expect(calls.length).toBeLessThanOrEqual(2);
});
