/** The promises of `palimpsest/testing`, beside the example's own tests. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { fakeClock, finishRuns } from "../../src/testing/index.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { makeGate, openGates, summaryOf } from "../scripted-model.ts";

skipRetryDelays();

test("a day that passes leaves a run alone that waits for a person, and the real time comes back", async () => {
  const { stub, agent } = newAgent((prompt) => summaryOf(prompt, "They agreed."));
  await runInDurableObject(stub, async (object) => {
    Session.create(object).forSession("asked").compactAfter(2_000).requireApproval({ onTimeout: "discard" }).apply();
  });
  await startRun(agent, "asked");
  await runInDurableObject(stub, async (object) => {
    const clock = fakeClock(object);
    const [waiting] = await finishRuns(object, { sessionId: "asked" });
    expect(waiting).toMatchObject({ state: "proposed", outcome: null });
    await clock.advance(23 * 3_600_000);
    expect((await finishRuns(object, { sessionId: "asked" }))[0]?.outcome).toBeNull();
    expect(object.palimpsest.platform.now()).toBe(clock.now());
    clock.restore();
    expect(Math.abs(object.palimpsest.platform.now() - Date.now())).toBeLessThan(60_000);
  });
});

test("a run that does not end is named, with the step that it is at", async () => {
  const gate = makeGate();
  const { stub, agent } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "They agreed.");
  });
  const run = await startRun(agent);
  await gate.reached();
  await runInDurableObject(stub, async (object) => {
    await expect(finishRuns(object, { timeoutMs: 20 })).rejects.toThrow(
      new RegExp(`^\\[invalid_state\\] After 20 ms: ${run.id} is running after "`),
    );
  });
  openGates();
  await runInDurableObject(stub, async (object) => {
    expect((await finishRuns(object))[0]).toMatchObject({ id: run.id, outcome: { kind: "applied" } });
  });
});

test("a clock takes whole milliseconds and goes forward only", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (object) => {
    for (const startAt of [-1, 0.5, Number.NaN])
      expect(() => fakeClock(object, startAt)).toThrow(/^\[invalid_options\]/);
    const clock = fakeClock(object, 1_000);
    for (const ms of [-1, 0.5, Number.NaN]) await expect(clock.advance(ms)).rejects.toThrow(/^\[invalid_options\]/);
    await clock.advance(61_000);
    expect(clock.now()).toBe(62_000);
  });
});
