/** When a run starts and when it waits, with its reason. Waiting never loses a message, and never causes many calls. */
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import { APICallError } from "@ai-sdk/provider";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import { COOLDOWNS_MS, MAX_WASTED_CALLS, PARALLEL_CHUNKS } from "../../../src/limits.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun, stubOf } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { makeGate, openGates, summaryOf, type Script } from "../../scripted-model.ts";
import { everything } from "../../tries.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { kinds, settle, sound, withPolicy } from "../runs.ts";
import { FAILURES_TO_OPEN } from "../../../src/steps/decide/breaker.ts";

skipRetryDelays();

afterEach(() => {
  vi.useRealTimers();
  openGates();
});

/** Moves the date alone, so no timer fires. */
function pass(minutes: number): void {
  vi.setSystemTime(Date.now() + minutes * 60_000);
}

const down: Script = () => {
  throw new Error("connection refused");
};

function refuse(statusCode: number): Script {
  return () => {
    throw new APICallError({ message: "no", url: "https://model.example", requestBodyValues: {}, statusCode });
  };
}

// --- the breaker --------------------------------------------------------------------------------------------------------

/** How many messages an hour brings, ten at a time. */
const HOUR = everything ? 500 : 100;

test(`a summariser that is down for an hour while ${HOUR} messages are appended costs a handful of calls, and no message waits`, async () => {
  const { agent, calls } = newAgent(down);
  vi.setSystemTime(Date.now());
  for (let n = 0; n < HOUR; n += 10) {
    await agent.appendAll({ messages: talk(n, n + 10) });
    await settle(agent);
    pass(600 / HOUR);
  }
  expect(await agent.getPathLength({})).toBe(HOUR);
  const runs = await settle(agent);
  expect(new Set(kinds(runs))).toEqual(new Set(["applied"]));
  expect(runs.every(({ outcome }) => outcome?.kind === "applied" && outcome.degraded)).toBe(true);
  expect((await agent.status({})).viewTokens).toBeLessThan(3_000 + 1_100);
  // The attempts of the first run until the breaker opens, and then, for each probe of the hour, one attempt of the parallel chunks.
  expect(calls.length).toBeLessThanOrEqual(FAILURES_TO_OPEN + COOLDOWNS_MS.length * PARALLEL_CHUNKS);
  console.log(`down for an hour: ${calls.length} calls, ${runs.length} runs over ${HOUR} messages`);
});

test("a summariser whose answers are of no use for an hour costs a handful of calls too, and none is shown", async () => {
  const { agent, calls } = newAgent(() => "All is well.");
  vi.setSystemTime(Date.now());
  for (let n = 0; n < HOUR; n += 10) {
    await agent.appendAll({ messages: talk(n, n + 10) });
    await settle(agent);
    pass(600 / HOUR);
  }
  const runs = await settle(agent);
  expect(runs.every(({ outcome }) => outcome?.kind === "applied" && outcome.degraded)).toBe(true);
  expect(JSON.stringify((await agent.getView({})).messages)).not.toContain("All is well");
  // Two runs until the breaker opens, and one for each probe of the hour. Each gives up after so many answers and their repairs, and the
  // chunks that are asked for beside the last of them end.
  const givenUp = MAX_WASTED_CALLS + PARALLEL_CHUNKS - 1;
  expect(calls.length).toBeLessThanOrEqual((2 + COOLDOWNS_MS.length) * 2 * givenUp);
});

test("while the breaker is open a crossing waits, with its reason and no run; past the hard line a run starts without the model", async () => {
  const { agent, calls } = newAgent(refuse(401));
  await startRun(agent);
  await settle(agent);
  const asked = calls.length;
  expect(asked).toBeLessThanOrEqual(PARALLEL_CHUNKS);
  await agent.appendAll({ messages: talk(17, 24) });
  expect(await agent.status({})).toMatchObject({ waiting: { reason: "breaker-open" } });
  const { waiting } = await agent.status({});
  expect(waiting?.detail).toContain("refused the key");
  expect(await agent.plan({})).toMatchObject({ plan: { kind: "span" }, waiting: { reason: "breaker-open" } });
  expect(await agent.runs({})).toHaveLength(1);
  await agent.appendAll({ messages: talk(24, 40) });
  const runs = await settle(agent);
  expect(runs.length).toBeGreaterThan(1);
  expect(runs.at(-1)?.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(calls).toHaveLength(asked);
});

test("an append that waits costs the same rows as one under the threshold", async () => {
  const { agent, stub } = newAgent(refuse(401));
  await startRun(agent);
  await settle(agent);
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance);
    const { meter } = instance.palimpsest.db;
    const spent = async (n: number) => {
      const before = { ...meter };
      await session.appendMessage(say(n));
      return { read: meter.rowsRead - before.rowsRead, written: meter.rowsWritten - before.rowsWritten };
    };
    await spent(17);
    expect((await session.status()).waiting?.reason).toBe("under-threshold");
    const under = await spent(18);
    await session.appendAll(talk(19, 23));
    expect((await session.status()).waiting?.reason).toBe("breaker-open");
    expect(await spent(23)).toEqual(under);
  });
});

test("an open breaker outlives the object, and one probe after the cooldown closes it", async () => {
  let broken = true;
  const { name, agent, stub, calls } = newAgent((...asked) =>
    broken ? refuse(401)(...asked) : summaryOf(asked[0], "back"),
  );
  await startRun(agent);
  await settle(agent);
  const asked = calls.length;
  await evictDurableObject(stub);
  const again = stubOf(name);
  await again.appendAll({ messages: talk(17, 24) });
  expect(await again.status({})).toMatchObject({ waiting: { reason: "breaker-open" } });
  expect(calls).toHaveLength(asked);
  broken = false;
  pass(COOLDOWNS_MS[0]! / 60_000 + 1);
  await again.append({ message: say(28) });
  const runs = await settle(again);
  expect(runs.at(-1)?.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls.length).toBeGreaterThan(asked);
  const health = await runInDurableObject(stub, (instance: PalimpsestAgent) => instance.palimpsest.health.list());
  expect(health).toMatchObject([{ until: null, failures: 0, openings: 0 }]);
});

test("every session of the agent is spared what one of them learned, and of those that ask after the cooldown one probes", async () => {
  const { agent, calls } = newAgent(refuse(402));
  await startRun(agent, "one");
  await settle(agent, "one");
  const asked = calls.length;
  await agent.appendAll({ sessionId: "two", messages: talk(0, 17) });
  expect(await agent.status({ sessionId: "two" })).toMatchObject({ waiting: { reason: "breaker-open" } });
  expect(calls).toHaveLength(asked);
  pass(2);
  await agent.append({ sessionId: "two", message: { ...say(17), parts: [] } });
  for (const sessionId of ["three", "four"]) await agent.appendAll({ sessionId, messages: talk(0, 17) });
  for (const sessionId of ["two", "three", "four"]) await settle(agent, sessionId);
  expect(calls).toHaveLength(2 * asked);
});

test("the same attempt of a step is counted once, however often it is told", async () => {
  const gate = makeGate();
  const { agent, stub } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  const run = await startRun(agent);
  await gate.reached();
  const failures = await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const cost = { inputTokens: 7, outputTokens: 0, estimatedTokens: 7 };
    const failure = { model: "other", code: "network", reason: "down", cost, tookMs: 1_000, waitMs: 0 };
    for (const attempt of [1, 1, 2, 1, 2]) {
      const answerId = `answer-${attempt}`;
      await instance.compactionStep(run.id, "noteFailure", [
        { step: "summarize", attempt },
        { ...failure, answerId },
      ]);
    }
    return instance.palimpsest.health.list().find(({ model }) => model === "other")?.failures;
  });
  expect(failures).toBe(2);
  const { steps } = await agent.getRun({ runId: run.id });
  expect(steps.at(-1)).toMatchObject({ calls: 2, inputTokens: 14, estimatedTokens: 14, askedMs: 2_000 });
  gate.open();
  await settle(agent);
});

// --- the budget ---------------------------------------------------------------------------------------------------------

test("a spent budget postpones the next run, says what to change, and past the hard line costs nothing", async () => {
  const { agent, calls } = await withPolicy(sound, { budget: { sessionTokens: 100 } });
  await startRun(agent);
  expect(kinds(await settle(agent))).toEqual(["applied"]);
  const paid = calls.length;
  await agent.appendAll({ messages: talk(17, 29) });
  const { waiting } = await agent.status({});
  expect(waiting).toMatchObject({ reason: "budget-spent" });
  expect(waiting?.detail).toContain("budget.sessionTokens");
  await agent.appendAll({ messages: talk(29, 42) });
  const runs = await settle(agent);
  expect(runs.at(-1)?.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(calls).toHaveLength(paid);
});

test("a day's budget is the agent's: other sessions wait as well, a deleted one gives nothing back, and tomorrow is another day", async () => {
  const { agent, stub } = newAgent(sound);
  vi.setSystemTime(Date.UTC(2026, 7, 1, 12));
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const options = { chunkTokens: 1_500, budget: { dayTokens: 100 } };
    for (const id of ["one", "two"]) Session.create(instance).forSession(id).compactAfter(2_000, options);
    await SessionManager.create(instance).appendAll("one", talk(0, 17));
  });
  expect((await settle(agent, "one")).at(-1)?.outcome).toMatchObject({ kind: "applied", degraded: false });
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const manager = SessionManager.create(instance);
    await manager.delete("one");
    await manager.appendAll("two", talk(0, 20));
  });
  expect(await agent.status({ sessionId: "two" })).toMatchObject({ waiting: { reason: "budget-spent" } });
  vi.setSystemTime(Date.UTC(2026, 7, 2));
  await agent.append({ sessionId: "two", message: say(20) });
  expect((await settle(agent, "two")).at(-1)?.outcome).toMatchObject({ kind: "applied", degraded: false });
});

test("a deleted session leaves no row of what it cost (S2)", async () => {
  const { agent, stub } = newAgent(sound);
  await startRun(agent, "one");
  await settle(agent, "one");
  await runInDurableObject(stub, async (instance: PalimpsestAgent, state) => {
    const rows = () => state.storage.sql.exec("SELECT * FROM palimpsest_spend WHERE key = 'one'").toArray();
    expect(rows()).toHaveLength(1);
    await SessionManager.create(instance).delete("one");
    expect(rows()).toEqual([]);
  });
});

// --- by hand ------------------------------------------------------------------------------------------------------------

test("asked by hand while the model is down, a run ends at once with the reason; told to ignore that it asks, and an overflow never waits", async () => {
  let broken = true;
  const { agent, calls } = newAgent((...asked) => (broken ? refuse(401)(...asked) : summaryOf(asked[0], "back")));
  await startRun(agent);
  await settle(agent);
  const asked = calls.length;
  await agent.appendAll({ messages: talk(17, 24) });
  const { run } = await agent.compact({});
  expect(run).toMatchObject({ state: "ended", outcome: { kind: "nothing", reason: "breaker-open" } });
  expect(await agent.waitForRun({ runId: run.id })).toEqual(run);
  expect(calls).toHaveLength(asked);
  const overflow = await agent.compactNow({});
  expect((await agent.waitForRun({ runId: overflow.run.id })).outcome).toMatchObject({
    kind: "applied",
    degraded: true,
  });
  expect(calls).toHaveLength(asked);
  broken = false;
  await agent.appendAll({ messages: talk(24, 30) });
  const forced = await agent.compact({ ignoreBudget: true });
  expect((await agent.waitForRun({ runId: forced.run.id })).outcome).toMatchObject({
    kind: "applied",
    degraded: false,
  });
  expect((await agent.status({})).waiting?.reason).toBe("under-threshold");
});

test("ignoreBudget is no way round an invariant: what cannot shrink stays as it is (V3)", async () => {
  const { agent, calls } = newAgent(sound);
  await agent.appendAll({ messages: talk(0, 3) });
  const { run } = await agent.compact({ ignoreBudget: true });
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "nothing", reason: "too-short" });
  expect(calls).toEqual([]);
});

test("each state has its reason, and when one is due there is none", async () => {
  const gate = makeGate();
  const { agent } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  const reason = async () => (await agent.status({})).waiting?.reason;
  expect(await reason()).toBe("empty");
  await agent.appendAll({ messages: talk(0, 10) });
  expect(await reason()).toBe("under-threshold");
  await startRun(agent, "", 17);
  await gate.reached();
  expect(await reason()).toBe("run-in-flight");
  expect(await agent.plan({})).toMatchObject({ waiting: { reason: "run-in-flight" } });
  gate.open();
  await settle(agent);
  expect(await reason()).toBe("under-threshold");
  expect(await refusalOf(() => agent.compact({ ignoreBudget: "yes" as never }))).toContain(
    "[invalid_input] ignoreBudget",
  );
});
