/**
 * The operator's view, with the health of an agent, the SDK's diagnostics events and a point for each ended run. None of it holds a word of
 * the conversation.
 */
import { Session } from "../../src/agent/sessions/session.ts";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Telemetry, type TelemetryEnv } from "../../src/agent/reports/telemetry.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

interface Observed {
  readonly type: string;
  readonly agent: string;
  readonly name: string;
  readonly payload: Record<string, unknown>;
}

test("a sound run is told in its sizes and costs, and the agent is well", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const before = await agent.health({});
  expect(before).toMatchObject({ state: "idle", breakers: [], runs: [], failures: [], savedTokens: 0 });
  const run = await startRun(agent);
  const { outcome } = await agent.waitForRun({ runId: run.id });
  const { tokensBefore, tokensAfter } = outcome as { tokensBefore: number; tokensAfter: number };
  const health = await agent.health({});
  expect(health).toMatchObject({
    state: "ok",
    breakers: [{ model: "scripted", state: "closed", failures: 0, until: null }],
    spend: { sessionTokens: 110, dayTokens: 110 },
    failures: [],
    savedTokens: tokensBefore - tokensAfter,
    spentTokens: 110,
  });
  expect(health.runs).toMatchObject([
    { runId: run.id, outcome: "applied", degraded: false, tokensBefore, tokensAfter },
  ]);
});

test("a session that does not exist is not called well", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect((await agent.health({})).state).toBe("ok");
  expect((await agent.health({ sessionId: "mistyped" })).state).toBe("idle");
});

test("a summariser that is down shows as open until when, with what to do; its failures are counted by code, not by its words", async () => {
  const { agent } = newAgent(() => {
    throw Object.assign(new Error("the very words of the provider"), { statusCode: 401 });
  });
  const run = await startRun(agent);
  await agent.waitForRun({ runId: run.id });
  const health = await agent.health({});
  expect(health.state).not.toBe("ok");
  expect(health.failures).toEqual([{ reason: "degraded", count: 1 }]);
  expect(JSON.stringify(health)).not.toContain("very words");
  await agent.compact({});
  expect((await agent.health({ limit: 1 })).runs).toHaveLength(1);
});

test("while a run's calls fail the agent is not called well, nor after the cooldown until something came back", async () => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect((await agent.health({})).state).toBe("ok");
  const states: string[] = [];
  const look = async (code: string, at: number): Promise<void> => {
    await runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) => {
      palimpsest.db.transaction(() => palimpsest.health.noteFailure("scripted", code, at));
    });
    states.push((await agent.health({})).state);
  };
  await look("network", Date.now());
  // Refused a day ago, so that its cooldown is over.
  await look("auth", Date.now() - 86_400_000);
  expect(states).toEqual(["degraded", "down"]);
  expect((await agent.health({})).breakers).toMatchObject([{ state: "probing" }]);
});

test("the end of a run is told with its reason, as a code", async () => {
  const heard: Observed[] = [];
  const listen = (event: unknown): void => void heard.push(event as Observed);
  const { agent, stub } = newAgent();
  await agent.append({ message: say(0) });
  subscribe("agents:workflow", listen);
  await runInDurableObject(stub, async ({ palimpsest }: PalimpsestAgent) => {
    const { run } = await Session.create({ palimpsest }).compact();
    palimpsest.db.transaction(() => {
      const live = palimpsest.runs.mustGet(run.id);
      const failure = { attempt: 1, count: 1, model: "m", code: "auth", reason: "the very words of the provider" };
      const step = { name: "s", attempts: 1, startedAt: 0, endedAt: 1, calls: 1, askedMs: 0, reused: false };
      const steps = [{ ...step, inputTokens: 0, outputTokens: 0, estimatedTokens: 0, failure }];
      if (live.outcome === null) palimpsest.endRun({ ...live, steps }, { kind: "failed", reason: "very words" });
    });
  });
  unsubscribe("agents:workflow", listen);
  const ended = heard.find(({ type, name }) => type.endsWith(":ended") && name === stub.name);
  expect(ended?.payload).toMatchObject({ outcome: "failed", reason: "auth", degraded: false });
  expect(JSON.stringify(ended)).not.toContain("very words");
});

test("usage shows how the provider counts, by model", async () => {
  const { agent, stub } = newAgent();
  await agent.appendAll({ messages: talk(0, 4) });
  await runInDurableObject(stub, (instance: PalimpsestAgent) =>
    Session.create(instance).recordUsage({ inputTokens: 900, model: "large" }),
  );
  const [usage] = (await agent.health({})).usage;
  expect(usage).toMatchObject({ model: "large", calls: 1, inputTokens: 900 });
  expect(usage?.ratio).toBeGreaterThanOrEqual(1);
});

test("each state of a run is one diagnostics event on the SDK's own channel, with ids and counts only (R1, S2)", async () => {
  const heard: Observed[] = [];
  const listen = (event: unknown): void => void heard.push(event as Observed);
  subscribe("agents:workflow", listen);
  const { agent, name } = newAgent((prompt) => summaryOf(prompt, "a word that was said"));
  const run = await startRun(agent);
  await agent.waitForRun({ runId: run.id });
  unsubscribe("agents:workflow", listen);
  const ours = heard.filter((event) => event.payload["runId"] === run.id);
  expect(ours.map(({ type }) => type)).toEqual(
    ["pending", "running", "ended"].map((state) => `workflow:palimpsest:${state}`),
  );
  expect(ours.every((event) => event.name === name && event.agent === "PalimpsestAgent")).toBe(true);
  expect(ours.at(-1)?.payload).toMatchObject({ sessionId: "", n: 1, trigger: "threshold", outcome: "applied" });
  expect(JSON.stringify(ours)).not.toMatch(/a word that was said|promise number/);
});

test("a run that ended is one point; what the dataset throws reaches nobody (R1)", async () => {
  const { agent, stub, name } = newAgent((prompt) => summaryOf(prompt, "done"));
  const points: unknown[] = [];
  let broken = false;
  const PALIMPSEST_ANALYTICS: TelemetryEnv["PALIMPSEST_ANALYTICS"] = {
    writeDataPoint: (point) => {
      if (broken) throw new Error("The dataset is full.");
      points.push(point);
    },
  };
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    const telemetry = new Telemetry(instance, { PALIMPSEST_ANALYTICS });
    Object.assign(instance.palimpsest.platform, { record: telemetry.record.bind(telemetry) });
  });
  const run = await startRun(agent);
  const { steps, outcome } = await agent.waitForRun({ runId: run.id });
  const { tokensBefore, tokensAfter } = outcome as { tokensBefore: number; tokensAfter: number };
  expect(points).toEqual([
    {
      indexes: [name],
      blobs: ["", "threshold", "applied", "", "compaction"],
      doubles: [tokensBefore, tokensAfter, 1, 100, 10, expect.any(Number), steps.length, 0],
    },
  ]);
  broken = true;
  await agent.append({ message: say(17) });
  const { run: other } = await agent.compact({});
  expect((await agent.waitForRun({ runId: other.id })).outcome).not.toBeNull();
  expect(points).toHaveLength(1);
});
