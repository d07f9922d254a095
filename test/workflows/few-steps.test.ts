/** The cost of a run for the engine and its agent. It takes few steps and few calls, with the same promises as many. */
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say } from "../conversation.ts";
import { settled } from "../engine.ts";
import { summaryOf } from "../scripted-model.ts";
import { planFault } from "./faults/faulty-run.ts";

skipRetryDelays();

test("a run of one chunk takes three steps of the engine and five calls of the agent", async () => {
  const { name, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const plan = planFault(name, { fault: null, at: 0 });
  const run = await startRun(agent);
  const ended = await agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(plan.calls).toEqual(["readOutline", "recordPlan", "readChunk", "saveDraft", "addCompaction"]);
  expect(plan.steps).toEqual(["plan the cut", expect.stringMatching(/^summarize 1 of 1 · /), "add compaction"]);
});

test("what the engine keeps of a run are ids, counts and digests: plan, chunks, audit and commit, and no word of the conversation (S2)", async () => {
  const { name, agent } = newAgent((prompt) => summaryOf(prompt, "quokka-summary"));
  const { results } = planFault(name, { fault: null, at: 0 });
  const run = await startRun(agent, "long!6000", 49);
  const { outcome, steps } = await agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect([...results.keys()].toSorted()).toEqual(steps.map((step) => step.name).toSorted());
  expect(results.get("plan the cut")).toMatchObject({
    kind: "planned",
    digest: expect.any(String) as unknown,
    headTokens: expect.any(Number) as unknown,
    spanTokens: expect.any(Number) as unknown,
    tailTokens: expect.any(Number) as unknown,
    needsApproval: false,
    parts: [{ kind: "chunk" }, { kind: "chunk" }, { kind: "chunk" }],
  });
  expect(results.get("add compaction")).toEqual({ kind: "ended", outcome });
  const drafted = steps.filter((step) => /^(?:summarize|merge)/.test(step.name));
  expect(drafted).toHaveLength(4);
  for (const { name: step, verdict } of drafted) {
    expect(results.get(step)).toMatchObject({ kind: "draft", problems: [], unfit: [], tokens: verdict?.tokens });
    expect(verdict).toMatchObject({ problems: [], unfit: [], tokens: expect.any(Number) as unknown });
  }
  for (const result of results.values()) {
    const kept = JSON.stringify(result);
    expect(kept).not.toMatch(/quokka|Step \d|file/i);
    expect(kept.length).toBeLessThan(2_000);
  }
});

test("nor a word of what a draft lost: the facts that a repair names are read from the agent (S2)", async () => {
  const rules = Array.from({ length: 160 }, (_, n) => `Never touch billing_${n}.`).join("\n");
  const { name, agent, calls } = newAgent((prompt) => summaryOf(prompt, "something was said"));
  const { results } = planFault(name, { fault: null, at: 0 });
  await agent.appendAll({ messages: [say(0), say(1), { ...say(2), parts: [{ type: "text", text: rules }] }] });
  await agent.appendAll({ messages: Array.from({ length: 16 }, (_, n) => say(n + 3)) });
  for (const { id } of await agent.runs({})) {
    await agent.waitForRun({ runId: id });
    await settled(id);
  }
  expect(calls.find(({ kind }) => kind === "repair")?.problems.join()).toContain("Never touch billing_");
  const kept = [...results.values()].map((result) => JSON.stringify(result)).join();
  expect(kept).toContain('"lost":');
  expect(kept).not.toContain("billing_");
});

test("approval that is asked for only after the plan is waited for all the same: the commit refuses without it (C1)", async () => {
  const { name, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const plan = planFault(name, { fault: null, at: 0 });
  plan.behind = async (found, method) =>
    method === "recordPlan" && Session.create(found).compactAfter(2_000).requireApproval().status();
  const run = await startRun(agent);
  for (;;) {
    const { state, outcome } = await agent.getRun({ runId: run.id });
    if (state === "waiting" || outcome !== null) break;
    await scheduler.wait(1);
  }
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "waiting", outcome: null });
  expect(await agent.getCompactions({})).toEqual([]);
  await agent.approveRun({ runId: run.id });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied" } });
});

test("a plan that was recorded is the run's plan: when its step is done again it is answered, whatever the view has come to weigh (C1, R3)", async () => {
  const { name, agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  const plan = planFault(name, { fault: "result lost", at: 1 });
  plan.behind = async (found, method) =>
    method === "recordPlan" && Session.create(found).recordUsage({ model: "x", inputTokens: 9_000, outputTokens: 1 });
  const run = await startRun(agent);
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect([plan.fired, calls.length]).toEqual([true, 1]);
  expect(plan.calls.slice(0, 4)).toEqual(["readOutline", "recordPlan", "readOutline", "readChunk"]);
});
