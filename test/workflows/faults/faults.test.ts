/**
 * Faults of the platform during a run. They are resets, evictions, failing and hanging steps, and manual control of the engine. Every run
 * ends.
 */
import { abortAllDurableObjects, evictDurableObject, introspectWorkflow, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_INSTANCE_RESTARTS, MODEL_RETRIES } from "../../../src/limits.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { MODEL_CALL } from "../../../src/workflows/ladder.ts";
import { sound } from "../../agent/runs.ts";
import { ENOUGH, newAgent, refusalOf, startRun, stubOf } from "../../agents.ts";
import { settled } from "../../engine.ts";
import { talk, textOf } from "../../conversation.ts";
import { planFault } from "./faulty-run.ts";
import { makeGate, openGates, summaryOf, type Gate } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

type Workflows = Awaited<ReturnType<typeof introspectWorkflow>>;
let workflows: Workflows;

beforeEach(async () => {
  workflows = await introspectWorkflow(env.COMPACTION_WORKFLOW);
  await workflows.modifyAll((modifier) => modifier.disableRetryDelays());
});

afterEach(async () => {
  vi.useRealTimers();
  openGates();
  // Disposing aborts instances, and one that is about to end would then never answer. A failed test may leave one that does not end, so the
  // wait is short.
  const ends = (await workflows.get()).map((instance) => instance.waitForStatus("complete").catch(() => undefined));
  await Promise.race([Promise.all(ends), scheduler.wait(2_000)]);
  await workflows.dispose();
});

/** A run whose first call of the model waits at a gate. */
async function runAtGate() {
  const gate = makeGate();
  const made = newAgent(async (prompt, call) => {
    if (call === 0) await gate.pass();
    return summaryOf(prompt, `summary ${call}`);
  });
  const run = await startRun(made.agent);
  await gate.reached();
  return { ...made, run, gate };
}

/** Lets so much time pass that a silent run counts as quiet. Moves the date alone, so no timer fires. */
function pass(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1_000);
}

function engine(run: RunRecord): Promise<WorkflowInstance> {
  return env.COMPACTION_WORKFLOW.get(run.id);
}

async function finish(agent: PalimpsestAgent, run: RunRecord, gate?: Gate): Promise<RunRecord> {
  gate?.open();
  return agent.waitForRun({ runId: run.id });
}

/** Writes a run's row, and starts nothing for it. */
function recordLostRun({ palimpsest }: PalimpsestAgent): string {
  const { runs, memory, settings, dispatcher } = palimpsest;
  const { policy } = settings.get("");
  if (policy === null) throw new Error("The test's session has a policy.");
  dispatcher.dispatch = () => undefined;
  const lost = {
    id: `run-lost-${crypto.randomUUID()}`,
    kind: "compaction",
    sessionId: "",
    leafId: "m12",
    tokensBefore: 1_600,
    policy,
  } as const;
  const asked = { trigger: "manual", focus: null, manual: true, fresh: false, retryOf: null, staleStreak: 0 } as const;
  memory.db.transaction(() => runs.start({ ...lost, ...asked }));
  return lost.id;
}

// --- the agent's object goes away ---------------------------------------------------------------------------------------

test("a reset of the agent while the model thinks costs nothing: the answer is stored by the object's next life (R1, R3)", async () => {
  const { name, run, gate, calls } = await runAtGate();
  await abortAllDurableObjects();
  const again = stubOf(name);
  expect(await finish(again, run, gate)).toMatchObject({ outcome: { kind: "applied", degraded: false } });
  expect(calls).toHaveLength(1);
  expect(await again.getHistory({ leafId: "m16" })).toHaveLength(
    (await again.getView({ apart: true })).messages.length,
  );
});

test("an eviction while the model thinks changes nothing (R1)", async () => {
  const { name, stub, run, gate, calls } = await runAtGate();
  await evictDurableObject(stub);
  expect(await finish(stubOf(name), run, gate)).toMatchObject({ outcome: { kind: "applied" } });
  expect(calls).toHaveLength(1);
});

test("a reset between the parts of a long run pays for no finished part again (R3)", async () => {
  const gate = makeGate();
  const { name, agent, calls } = newAgent(async (prompt) => {
    if (prompt.kind === "merge") await gate.pass();
    return summaryOf(prompt, prompt.kind);
  });
  const run = await startRun(agent, "long!6000", 49);
  await gate.reached();
  await abortAllDurableObjects();
  expect(await finish(stubOf(name), run, gate)).toMatchObject({ outcome: { kind: "applied", degraded: false } });
  expect(calls.map((call) => call.kind)).toEqual(["chunk", "chunk", "chunk", "merge"]);
});

test("a run that was recorded but never dispatched is started by the watchdog of the object's next life (R1)", async () => {
  const { name, stub, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 13) });
  // The state after a crash between the transaction and the outbox.
  const runId = await runInDurableObject(stub, recordLostRun);
  await evictDurableObject(stub);
  const again = stubOf(name);
  await again.watchCompactions();
  expect(await again.waitForRun({ runId })).toMatchObject({ outcome: { kind: "applied" } });
});

// --- steps fail -----------------------------------------------------------------------------------------------------------

test.each(["plan the cut", "merge", "add compaction"])(
  'the step "%s" may fail several times: the run is applied once, all the same (C1, R1)',
  async (name) => {
    await workflows.modifyAll((modifier) => modifier.mockStepError({ name }, new Error("the network is down"), 3));
    const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
    const ended = await finish(agent, await startRun(agent, "long!6000", 49));
    expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
    expect(ended.steps.find((step) => step.name === name)?.attempts).toBe(4);
    expect(calls).toHaveLength(4);
    expect(await agent.getCompactions({ sessionId: "long!6000" })).toHaveLength(1);
  },
);

test("a summarise step that fails several times is paid for once (R3)", async () => {
  await workflows.modifyAll((modifier) => modifier.mockStepError({ name: "summarize" }, new Error("lost"), 2));
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  const ended = await finish(agent, await startRun(agent));
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls).toHaveLength(1);
});

test("an agent that is away for longer than a failing model is asked is not taken for a model that fails (R3)", async () => {
  const { name, agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  planFault(name, { fault: null, at: 0 }).away = { method: "read", times: MODEL_RETRIES + 2 };
  const ended = await finish(agent, await startRun(agent));
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls).toHaveLength(1);
  const step = ended.steps.find((each) => each.name === "summarize");
  expect(step?.failure).toBeUndefined();
  expect((await agent.health({})).breakers).toMatchObject([{ state: "closed", failures: 0 }]);
});

test("an agent that is away for longer than a step is tried finds the run given up, and restarts it (R1, R3)", async () => {
  const { name, agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  planFault(name, { fault: null, at: 0 }).away = { method: "read", times: MODEL_CALL.retries.limit + 1 };
  const run = await startRun(agent);
  expect((await settled(run.id)).status).toBe("errored");
  pass(60);
  await agent.watchCompactions();
  expect(await finish(agent, run)).toMatchObject({ restarts: 1, outcome: { kind: "applied", degraded: false } });
  expect(calls).toHaveLength(1);
});

test.each([
  ["an answer", "saveDraft"],
  ["a failure", "noteFailure"],
] as const)(
  "%s that no send brings to the agent is sent by the next try, and is billed once (R3)",
  async (_, method) => {
    const paid = [100, 10] as const;
    const { name, agent, calls } = newAgent((prompt, call) =>
      method === "noteFailure" && call === 0
        ? { text: "Some of", finishReason: "error", usage: paid }
        : { text: summaryOf(prompt, "done"), finishReason: "stop", usage: paid },
    );
    planFault(name, { fault: null, at: 0 }).away = { method, times: 4 };
    const ended = await finish(agent, await startRun(agent));
    expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
    expect(calls).toHaveLength(method === "saveDraft" ? 1 : 2);
    expect(ended).toMatchObject({
      modelCalls: calls.length,
      inputTokens: 100 * calls.length,
      outputTokens: 10 * calls.length,
      estimatedTokens: 0,
    });
  },
);

test("a summarise step that times out is tried again, and the late answer harms nothing (C1)", async () => {
  await workflows.modifyAll((modifier) => modifier.forceStepTimeout({ name: "summarize" }, 1));
  const { agent } = newAgent((prompt, call) => summaryOf(prompt, `summary ${call}`));
  const ended = await finish(agent, await startRun(agent));
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(await agent.getCompactions({})).toHaveLength(1);
});

test("a summariser that never answers: each attempt is given up, and an extractive summary stands in (R1)", async () => {
  await workflows.modifyAll((modifier) => modifier.forceStepTimeout({ name: "summarize" }));
  const { agent } = newAgent(sound);
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
});

test("an attempt that comes back after another committed finds the run ended, and writes nothing (C1)", async () => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  const ended = await finish(agent, await startRun(agent));
  const before = await agent.getView({});
  const late = await runInDurableObject(stub, (instance: PalimpsestAgent) =>
    instance.compactionStep(ended.id, "saveDraft", [
      { step: "summarize", attempt: 2 },
      {
        key: "late",
        text: "LATE",
        model: "scripted",
        finishReason: "stop",
        inputTokens: 9,
        outputTokens: 9,
        degraded: false,
        problems: [],
      },
    ]),
  );
  expect(late).toEqual({ kind: "ended", outcome: ended.outcome });
  expect(await agent.getView({})).toEqual(before);
  expect(await agent.getRun({ runId: ended.id })).toEqual(ended);
});

// --- a hand on the run ----------------------------------------------------------------------------------------------------

test("a run is paused and resumed, and ends as if it had not been", async () => {
  const { agent, run, gate } = await runAtGate();
  const pausing = agent.pauseRun({ runId: run.id });
  gate.open();
  expect(await pausing).toMatchObject({ state: "paused", outcome: null });
  expect(await agent.resumeRun({ runId: run.id })).toMatchObject({ state: "running" });
  expect(await finish(agent, run)).toMatchObject({ outcome: { kind: "applied", degraded: false } });
});

test("a cancelled run stays cancelled whatever its model says later, and shows nothing (C1, R1)", async () => {
  const { agent, run, gate } = await runAtGate();
  expect(await agent.cancelRun({ runId: run.id })).toMatchObject({ state: "ended", outcome: { kind: "cancelled" } });
  gate.open();
  expect((await settled(run.id)).status).toBe("terminated");
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ outcome: { kind: "cancelled" } });
  expect(await agent.getCompactions({})).toEqual([]);
  expect(await agent.cancelRun({ runId: run.id })).toMatchObject({ outcome: { kind: "cancelled" } });
  expect((await agent.status({})).liveRunIds).toEqual([]);
});

test("a run that ended is retried; one that is at work is not", async () => {
  const { agent, run, gate } = await runAtGate();
  expect(await refusalOf(() => agent.retryRun({ runId: run.id }))).toContain("[invalid_state]");
  await agent.cancelRun({ runId: run.id });
  gate.open();
  const { run: retried } = await agent.retryRun({ runId: run.id });
  expect(await finish(agent, retried)).toMatchObject({ retryOf: run.id, outcome: { kind: "applied" } });
  expect(await refusalOf(() => agent.pauseRun({ runId: run.id }))).toContain("[invalid_state]");
  expect(await refusalOf(() => agent.resumeRun({ runId: run.id }))).toContain("[invalid_state]");
});

// --- the engine behind our back ---------------------------------------------------------------------------------------------

test("an instance that was terminated behind the ledger's back ends its run as cancelled (R1)", async () => {
  const { agent, run, gate } = await runAtGate();
  await (await engine(run)).terminate();
  gate.open();
  await agent.watchCompactions();
  expect((await agent.getRun({ runId: run.id })).outcome).toBeNull();
  pass(60);
  await agent.watchCompactions();
  expect((await agent.getRun({ runId: run.id })).outcome).toEqual({ kind: "cancelled" });
});

test("an instance that was paused and resumed behind the ledger's back shows as that, and ends", async () => {
  const { agent, run, gate } = await runAtGate();
  const instance = await engine(run);
  const pausing = instance.pause();
  gate.open();
  await pausing;
  pass(60);
  await agent.watchCompactions();
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "paused", outcome: null });
  await instance.resume();
  expect(await finish(agent, run)).toMatchObject({ outcome: { kind: "applied" } });
});

test("an instance that was resumed behind the ledger's back shows as running again", async () => {
  const [reading, merging] = [makeGate(), makeGate()];
  const { agent } = newAgent(async (prompt) => {
    await (prompt.kind === "merge" ? merging : reading).pass();
    return summaryOf(prompt, prompt.kind);
  });
  const run = await startRun(agent, "long!6000", 49);
  await reading.reached();
  const pausing = agent.pauseRun({ runId: run.id });
  reading.open();
  await pausing;
  await (await engine(run)).resume();
  await merging.reached();
  pass(60);
  await agent.watchCompactions();
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "running", outcome: null });
  expect(await finish(agent, run, merging)).toMatchObject({ outcome: { kind: "applied" } });
});

test("an instance that is missing is created again (R1)", async () => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 13) });
  const runId = await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    const lost = recordLostRun(instance);
    instance.palimpsest.runs.change(lost, { state: "running", startedAt: Date.now(), heardAt: Date.now() });
    return lost;
  });
  await agent.watchCompactions();
  await agent.watchCompactions();
  expect(await agent.waitForRun({ runId })).toMatchObject({ outcome: { kind: "applied" } });
});

test("an instance that fails is restarted a few times, and then its run fails with the engine's reason (R1)", async () => {
  await workflows.modifyAll((modifier) =>
    modifier.mockStepError({ name: "plan the cut" }, new Error("no way through")),
  );
  const { agent } = newAgent();
  const run = await startRun(agent);
  for (let restart = 0; restart <= MAX_INSTANCE_RESTARTS; restart++) {
    expect((await settled(run.id)).status).toBe("errored");
    expect((await agent.getRun({ runId: run.id })).outcome).toBeNull();
    pass(60);
    await agent.watchCompactions();
  }
  const ended = await agent.getRun({ runId: run.id });
  expect(ended).toMatchObject({ restarts: MAX_INSTANCE_RESTARTS, outcome: { kind: "failed" } });
  expect(ended.outcome?.kind === "failed" ? ended.outcome.reason : "").toContain("no way through");
  expect(await agent.getHistory({})).toEqual(talk(0, ENOUGH));
});

test("an instance that the engine calls running, and that says nothing for an hour, is nudged first and then restarted (R1)", async () => {
  const { agent, stub, run, gate } = await runAtGate();
  const acts = await runInDurableObject(stub, async ({ palimpsest: { dispatcher, platform } }: PalimpsestAgent) => {
    const told: string[] = [];
    const instance = platform.instance.bind(platform);
    Object.assign(platform, {
      instance: async () => ({
        status: async () => ({ status: "running" }),
        nudge: async () => void told.push("nudge"),
        restart: async () => void told.push("restart"),
      }),
    });
    for (const seconds of [1_800, 1_700, 200, 1_800]) {
      pass(seconds);
      await dispatcher.watch();
    }
    Object.assign(platform, { instance });
    return told;
  });
  expect(acts).toEqual(["nudge", "nudge", "restart", "nudge"]);
  expect(await finish(agent, run, gate)).toMatchObject({ restarts: 1, outcome: { kind: "applied" } });
});

test("a run whose instance failed goes on in a restarted one, from what was already paid for (R1, R3)", async () => {
  const { agent, stub, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    const step = instance.compactionStep.bind(instance);
    instance.compactionStep = async (runId, method, args) => {
      if (method === "commit") throw new Error("gone for long");
      return step(runId, method, args);
    };
  });
  const run = await startRun(agent);
  expect((await settled(run.id)).status).toBe("errored");
  await runInDurableObject(stub, (instance) => Reflect.deleteProperty(instance, "compactionStep"));
  pass(60);
  await agent.watchCompactions();
  const ended = await finish(agent, run);
  expect(ended).toMatchObject({ restarts: 1, outcome: { kind: "applied", degraded: false } });
  expect(calls).toHaveLength(1);
});

test("a cancel reaches a run whose instance has failed already (R1)", async () => {
  await workflows.modifyAll((modifier) =>
    modifier.mockStepError({ name: "plan the cut" }, new Error("no way through")),
  );
  const { agent } = newAgent();
  const run = await startRun(agent);
  expect((await settled(run.id)).status).toBe("errored");
  expect(await agent.cancelRun({ runId: run.id })).toMatchObject({ outcome: { kind: "cancelled" } });
});

// --- the watchdog -----------------------------------------------------------------------------------------------------------

async function schedules(stub: DurableObjectStub<PalimpsestAgent>): Promise<number> {
  return runInDurableObject(stub, async (instance: PalimpsestAgent) => (await instance.listSchedules()).length);
}

test("the watchdog lives as long as a run does: one schedule, also after other lives of the object, and then none", async () => {
  const { name, stub, run, gate } = await runAtGate();
  expect(await schedules(stub)).toBe(1);
  await evictDurableObject(stub);
  const again = stubOf(name);
  await again.watchCompactions();
  expect(await schedules(stub)).toBe(1);
  await finish(again, run, gate);
  await again.watchCompactions();
  expect(await schedules(stub)).toBe(0);
  expect(textOf((await again.getView({})).messages)).toContain("summary 0");
});

test("a run that cannot be looked at keeps no other run from its end (R1)", async () => {
  const gate = makeGate();
  const { agent, stub } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  const [stuck, other] = [await startRun(agent, "a"), await startRun(agent, "b")];
  await gate.reached();
  await (await engine(other)).terminate();
  await runInDurableObject(stub, ({ palimpsest: { platform } }: PalimpsestAgent) => {
    const open = platform.instance.bind(platform);
    platform.instance = async (runId) => {
      if (runId === stuck.id) throw new Error("the engine is busy");
      return open(runId);
    };
  });
  pass(60);
  expect(await refusalOf(() => agent.watchCompactions())).toContain("the engine is busy");
  expect((await agent.getRun({ runId: other.id })).outcome).toEqual({ kind: "cancelled" });
  expect(await finish(agent, stuck, gate)).toMatchObject({ outcome: { kind: "applied" } });
});
