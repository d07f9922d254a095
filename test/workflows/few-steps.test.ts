/** The cost of a run for the engine and its agent. It takes few steps and few calls, with the same promises as many. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import type { PortMethod } from "../../src/workflows/port.ts";
import { newAgent, skipRetryDelays, startRun, stubOf } from "../agents.ts";
import { say } from "../conversation.ts";
import { settled } from "../engine.ts";
import { noting, sayWithNotes, SESSION } from "../noted.ts";
import { makeGate, summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { planFault } from "./faults/faulty-run.ts";

skipRetryDelays();

test("a run of one chunk takes three steps of the engine and six calls of the agent", async () => {
  const { name, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const plan = planFault(name, { fault: null, at: 0 });
  const run = await startRun(agent);
  const ended = await agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(plan.calls).toEqual(["outline", "recordPlan", "read", "saveDraft", "read", "commit"]);
  expect(plan.steps).toEqual(["plan the cut", "summarize", "add compaction"]);
  const [, drafted] = ended.steps;
  expect(drafted).toMatchObject({ calls: 1, attempts: 1, verdict: { problems: [], unfit: [] } });
  const text = expect.any(String) as unknown;
  expect(plan.results.get("summarize")).toEqual({
    kind: "draft",
    model: text,
    key: text,
    soundKey: text,
    tokens: drafted?.verdict?.tokens,
    reused: false,
    problems: [],
    unfit: [],
  });
  expect(plan.results.get("add compaction")).toEqual({ kind: "ended", outcome: ended.outcome });
});

test("a later run of one chunk takes no more: its one call carries on the summary before", async () => {
  const { name, agent, calls } = newAgent((prompt, call) => summaryOf(prompt, `summary ${call}`));
  const first = await startRun(agent);
  await agent.waitForRun({ runId: first.id });
  const plan = planFault(name, { fault: null, at: 0 });
  await agent.appendAll({ messages: Array.from({ length: 8 }, (_, n) => say(n + 100)) });
  const [later] = await agent.runs({});
  expect(later?.id).not.toBe(first.id);
  const ended = await agent.waitForRun({ runId: later?.id ?? "" });
  await settled(ended.id);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(plan.calls).toEqual(["outline", "recordPlan", "read", "saveDraft", "read", "commit"]);
  expect(plan.steps).toEqual(["plan the cut", "summarize", "add compaction"]);
  expect(calls[1]).toMatchObject({ kind: "chunk", previous: expect.stringContaining("summary 0") as unknown });
});

test("a run waits for the disk once in each call but the one that reads the outline, and makes its tables once", async () => {
  const { stub, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const written: string[] = [];
  await runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent, { storage }) => {
    const { runs } = palimpsest;
    const write = runs.write.bind(runs);
    runs.write = (run) => {
      written.push(...run.steps.slice(-1).map(({ name }) => name));
      return write(run);
    };
    const exec = storage.sql.exec.bind(storage.sql);
    Object.assign(storage.sql, {
      exec: (sql: string, ...bindings: SqlStorageValue[]) => {
        const [, made] = bindings;
        if (/INTO palimpsest_schema/.test(sql) && typeof made === "string") written.push(...made.split(" ").slice(-1));
        return exec(sql, ...bindings);
      },
    });
  });
  const run = await startRun(agent);
  await agent.waitForRun({ runId: run.id });
  expect(written).toEqual(["sessions", "runs", "plan the cut", "summarize", "forgotten", "+costs", "summarize"]);
});

/** A run of one chunk, with something that happens in the agent between the storing of its draft and the commit. */
async function runWith(between: (agent: PalimpsestAgent, ctx: DurableObjectState, runId: string) => unknown) {
  const gate = makeGate();
  const made = newAgent(async (prompt, call) => {
    await gate.pass();
    return summaryOf(prompt, `summary ${call}`);
  });
  const stored: unknown[] = [];
  const answered = new Set<PortMethod>();
  planFault(made.name, { fault: null, at: 0 }).behind = async (_, method) => answered.add(method);
  await runInDurableObject(made.stub, (agent: PalimpsestAgent, ctx) => {
    // The commit reads the blocks that it carries along before its transaction begins.
    const carriedTexts = async () => {
      stored.push(ctx.storage.sql.exec("SELECT count(*) AS n FROM palimpsest_drafts").one()["n"]);
      if (stored.length > 1) return [];
      const [live] = agent.palimpsest.runs.live("");
      await ctx.storage.sync();
      await between(agent, ctx, live?.id ?? "");
      return [];
    };
    Object.assign(agent.palimpsest.rooms, { carriedTexts });
  });
  const run = await startRun(made.agent);
  gate.open();
  return { ...made, run, stored, answered };
}

const DISTURBED: readonly (readonly [string, Parameters<typeof runWith>[0]])[] = [
  ["the agent's object is reset", (_, ctx) => ctx.abort("reset by a test")],
  ["the commit is thrown back", throwBack],
  [
    "the engine begins the run anew",
    async (agent, _, runId) => {
      throwBack(agent);
      await (await env.COMPACTION_WORKFLOW.get(runId)).restart();
    },
  ],
];

/** Throws the next commit of a run back. */
function throwBack({ palimpsest: { runs } }: PalimpsestAgent): void {
  const end = runs.end.bind(runs);
  runs.end = () => {
    runs.end = end;
    throw new Error("thrown back");
  };
}

test.each(DISTURBED)(
  "a draft is stored before it is committed: when %s in between, it is committed all the same, once, and no other is paid for (C1, R3)",
  async (_, between) => {
    const { name, run, calls, stored } = await runWith(between);
    const wait = () => stubOf(name).waitForRun({ runId: run.id });
    // The call of a client is lost with the agent's object.
    const { outcome, modelCalls, steps } = await wait().catch(wait);
    await settled(run.id);
    expect(outcome).toMatchObject({ kind: "applied", degraded: false });
    expect([calls.length, modelCalls, stored[0]]).toEqual([1, 1, 1]);
    expect(await stubOf(name).getCompactions({})).toHaveLength(1);
    expect(steps.map((step) => step.name)).toEqual(["plan the cut", "summarize", "add compaction"]);
  },
);

test("an edit between a draft and its commit makes the run stale, and the draft stays (C3, R3)", async () => {
  const { agent, run, calls } = await runWith((found) => Session.create(found).updateMessage(say(6, "NEW WORDS. ")));
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "stale", reason: "changed" } });
  await agent.update({ message: say(6) });
  const [next] = await agent.runs({});
  expect(await agent.waitForRun({ runId: next?.id ?? "" })).toMatchObject({ outcome: { kind: "applied" } });
  expect(calls.length).toBeLessThan(3);
});

test("a cancel between a draft and its commit keeps the commit out (C1, R1)", async () => {
  const { agent, run, answered } = await runWith((found, _, runId) => found.cancelRun({ runId }));
  while (!answered.has("saveDraft")) await scheduler.wait(1);
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "cancelled" } });
  expect(await agent.getCompactions({})).toEqual([]);
});

test("approval that is asked for between a draft and its commit counts: the draft is proposed, and committed when a person says so (C1, R3)", async () => {
  const { agent, run, calls } = await runWith((found) => Session.create(found).compactAfter(2_000).requireApproval());
  await untilWaiting(agent, run.id);
  expect(await agent.getCompactions({})).toEqual([]);
  await agent.approveRun({ runId: run.id });
  const { outcome, steps } = await agent.waitForRun({ runId: run.id });
  expect(outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(steps.map((step) => step.name)).toEqual(["plan the cut", "summarize", "add compaction"]);
  expect(calls).toHaveLength(1);
});

test("a run that is paused while its model thinks keeps the draft, and commits it when it is resumed (R3)", async () => {
  const gate = makeGate();
  const { name, agent, calls } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  const answered = new Set<PortMethod>();
  planFault(name, { fault: null, at: 0 }).behind = async (_, method) => answered.add(method);
  const run = await startRun(agent);
  await gate.reached();
  const pausing = agent.pauseRun({ runId: run.id });
  expect(await pausing).toMatchObject({ state: "paused", outcome: null });
  gate.open();
  while (!answered.has("saveDraft")) await scheduler.wait(1);
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "paused", outcome: null });
  expect(await agent.getCompactions({})).toEqual([]);
  await agent.resumeRun({ runId: run.id });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied", degraded: false } });
  expect(calls).toHaveLength(1);
});

async function untilWaiting(agent: PalimpsestAgent, runId: string): Promise<void> {
  for (;;) {
    const { state, outcome } = await agent.getRun({ runId });
    if (state === "proposed" || outcome !== null) return;
    await scheduler.wait(1);
  }
}

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
    messages: expect.any(Number) as unknown,
    headTokens: expect.any(Number) as unknown,
    spanTokens: expect.any(Number) as unknown,
    tailTokens: expect.any(Number) as unknown,
    parts: [{ kind: "chunk" }, { kind: "chunk" }, { kind: "chunk" }],
  });
  expect(results.get("merge")).toMatchObject({ kind: "draft", model: expect.any(String) as unknown, unfit: [] });
  expect(results.get("add compaction")).toMatchObject({ kind: "ended", outcome });
  const drafted = steps.filter((step) => step.name.startsWith("summarize"));
  expect(drafted).toHaveLength(3);
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

test("nor a word of what an answer made up: a repair reads it from the agent (S2)", async () => {
  const { name, agent, calls } = newAgent((prompt) =>
    summaryOf(prompt, prompt.kind === "repair" ? "done" : "done in src/quokka/made/up-4711.ts"),
  );
  const { results } = planFault(name, { fault: null, at: 0 });
  const { id } = await startRun(agent);
  await agent.waitForRun({ runId: id });
  await settled(id);
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk", "repair"]);
  expect(calls[1]?.problems.join()).toContain("quokka");
  const kept = [...results.values()].map((result) => JSON.stringify(result)).join();
  expect(kept).toContain('"problems":[{"kind":"unfounded"');
  expect(kept).not.toContain("quokka");
});

test("nor a word of a model's failure, which may quote the prompt: a step's error has its code, and the run's record the words (S2)", async () => {
  const { name, agent } = newAgent(() => Promise.reject(new Error("cannot summarise quokka")));
  const { errors } = planFault(name, { fault: null, at: 0 });
  const run = await startRun(agent);
  const { steps } = await agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.map(String).join()).not.toContain("quokka");
  expect(errors.map(String)).toContainEqual(expect.stringMatching(/: [\w-]+$/));
  expect(JSON.stringify(steps)).toContain("quokka");
});

test("nor a word of why an update of notes failed, which may quote the prompt (S2)", async () => {
  let isDown = false;
  const { name, agent } = newAgent((prompt, call, runId) =>
    isDown ? Promise.reject(new Error("cannot update quokka")) : noting(prompt, call, runId),
  );
  await sayWithNotes(agent);
  isDown = true;
  const { results, errors } = planFault(name, { fault: null, at: 0 });
  await agent.append({ sessionId: SESSION, message: say(40) });
  const { run } = await agent.refreshNotes({ sessionId: SESSION });
  const { outcome } = await agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect(JSON.stringify(outcome)).toContain("quokka");
  const kept = [...[...results.values()].map((result) => JSON.stringify(result)), ...errors.map(String)].join();
  expect(kept).toContain('"kind":"failed"');
  expect(kept).not.toContain("quokka");
});

test("nor a word of the notes that an answer would have lost: the lines that a repair quotes are read from the agent (S2)", async () => {
  let isBad = false;
  const { name, agent, calls } = newAgent((prompt, call, runId) =>
    isBad && prompt.kind === "notes" ? "## Learnings\nNone." : noting(prompt, call, runId),
  );
  await sayWithNotes(agent);
  const lines = Array.from({ length: 12 }, (_, n) => `- quokka ${n} prefers garden${n}, valley${n} and harbour${n}`);
  await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Learnings", text: lines.join("\n") }] });
  isBad = true;
  const { results } = planFault(name, { fault: null, at: 0 });
  await agent.append({ sessionId: SESSION, message: say(40) });
  const { run } = await agent.refreshNotes({ sessionId: SESSION });
  await agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect(calls.at(-1)?.problems.join()).toContain("quokka 0 prefers garden0");
  const kept = [...results.values()].map((result) => JSON.stringify(result)).join();
  expect(kept).toContain('"kind":"shrunk"');
  expect(kept).not.toContain("quokka");
});

test("approval that is asked for only after the plan counts: the commit proposes (C1)", async () => {
  const { name, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const plan = planFault(name, { fault: null, at: 0 });
  plan.behind = async (found, method) =>
    method === "recordPlan" && Session.create(found).compactAfter(2_000).requireApproval().status();
  const run = await startRun(agent);
  await untilWaiting(agent, run.id);
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "proposed", outcome: null });
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
  expect(plan.calls.slice(0, 4)).toEqual(["outline", "recordPlan", "outline", "read"]);
});
