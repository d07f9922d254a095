/** Shadows: second summaries of real runs, which nobody is shown. They cost what they say, and the same hindsight grades them. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import type { OverlayRow } from "../../src/memory/statements.ts";
import type { SecretRules } from "../../src/redact/secret-rules.ts";
import { gradeShadows } from "../../src/shadow/grade.ts";
import { NOTHING_PINNED, type Pinned } from "../../src/facts/fact.ts";
import { compareRows } from "../../src/shadow/compare.ts";
import type { ShadowRecord, ShadowRow } from "../../src/shadow/record.ts";
import type { ShadowOptions } from "../../src/shadow/settings.ts";
import type { NamedAgain, Hindsight } from "../../src/facts/hindsight.ts";
import { newAgent, overlayOf, refusalOf, skipRetryDelays, startRun, stubOf } from "../agents.ts";
import { inside } from "../agent/inside.ts";
import { say, talk } from "../conversation.ts";
import { settled } from "../engine.ts";
import type { FullManager } from "../rooms.ts";
import { everyTable, rowsOf } from "../rows.ts";
import { makeGate, scriptModel, summaryOf, type Script } from "../scripted-model.ts";
import { shadowsOfTests, type PalimpsestAgent } from "../worker.ts";
import { planFault, type Fault } from "../workflows/faults/faulty-run.ts";

skipRetryDelays();

/** Names that the real summaries and those of the shadow keep. Both are under the first overlay. */
const REAL = "src/ledger-2.ts";
const OTHER = "src/watchdog-5.ts";

const real: Script = (prompt) => summaryOf(prompt, `We changed ${REAL}.`);
const other: Script = (prompt) => summaryOf(prompt, `We changed ${OTHER}.`);

/** No room for names beside a summary, so that its text alone decides. */
const BARE: ShadowOptions["policy"] = { stackTokens: 1 };
const CHEAP: ShadowOptions = { model: "cheap", policy: BARE };

/** An agent whose default session has shadows. The model of the first is scripted. */
function shadowed({ shadows = [CHEAP], script = other, sessionId = "" } = {}) {
  const made = newAgent(real);
  shadowsOfTests.set(`${made.name}/${sessionId}`, shadows);
  return { ...made, asked: scriptModel(`${made.name}/cheap`, script) };
}

/** A run, done with its shadows. */
async function compacted(options: Parameters<typeof shadowed>[0] & { readonly messages?: number } = {}) {
  const made = shadowed(options);
  const { id } = await startRun(made.agent, options.sessionId, options.messages);
  const run = await made.agent.waitForRun({ runId: id });
  await settled(id);
  return { ...made, run, overlayId: overlayOf(run) };
}

/** Ends every run of a session with its shadows. */
async function finish(agent: PalimpsestAgent, sessionId = ""): Promise<void> {
  for (const { id } of await agent.runs({ sessionId })) {
    await agent.waitForRun({ runId: id });
    await settled(id);
  }
}

const asks = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

test("a shadow is made after the real summary is committed, and nobody is shown it (R2)", async () => {
  const gate = makeGate();
  const made = shadowed({
    script: async (prompt) => {
      await gate.pass();
      return summaryOf(prompt, `We changed ${OTHER}.`);
    },
  });
  const plan = planFault(made.name, { fault: null, at: 0 });
  const { id } = await startRun(made.agent);
  await gate.reached();
  const run = await made.agent.getRun({ runId: id });
  expect(run.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(await made.agent.status({})).toMatchObject({ liveRunIds: [] });
  gate.open();
  await settled(id);
  // The shadow changed nothing of the run.
  expect(await made.agent.getRun({ runId: id })).toEqual(run);
  expect(plan.steps.slice(-2)).toEqual([
    expect.stringMatching(/^summarize and add 1 of 1 · /),
    expect.stringMatching(/^shadow cheap · summarize 1 of 1 · /),
  ]);
  const [shadow] = await made.agent.getShadows({ overlayId: overlayOf(run) });
  expect(shadow).toMatchObject({ name: "cheap", model: "cheap", outcome: { kind: "kept" }, reason: null });
  expect(shadow?.summary).toContain(OTHER);
  const [overlay] = await made.agent.getCompactions({});
  expect(overlay?.summary).not.toContain(OTHER);
  expect(await made.agent.getCompactions({})).toHaveLength(1);
});

test("the run costs the same with a shadow as without one, and its own tokens are on the bill under a name of their own", async () => {
  const plain = newAgent(real);
  const { id } = await startRun(plain.agent);
  const alone = await plain.agent.waitForRun({ runId: id });
  const { agent, run, asked } = await compacted();
  expect(asked).toHaveLength(1);
  const { modelCalls, inputTokens, outputTokens } = alone;
  expect(run).toMatchObject({ modelCalls, inputTokens, outputTokens });
  const costs = await agent.getCosts({});
  expect(costs.summarisers).toMatchObject([{ model: "scripted", calls: modelCalls }]);
  expect(costs.shadows).toMatchObject([{ model: "cheap", calls: 1, inputTokens: 100, outputTokens: 10 }]);
  const { shadows } = await agent.compareShadows({});
  expect(shadows).toMatchObject([
    { name: "cheap", compactions: 1, kept: 1, compared: 0, shadow: { calls: 1, inputTokens: 100, outputTokens: 10 } },
  ]);
});

test("the same hindsight grades both: on request, and when the next compaction is planned, it is kept", async () => {
  const { agent } = await compacted();
  expect((await agent.compareShadows({})).compactions).toMatchObject([
    { n: 1, real: { model: "scripted", hindsight: null }, shadows: [{ name: "cheap", hindsight: null }] },
  ]);
  await agent.append({ message: asks("again", `Look at ${OTHER} once more.`) });
  const now = await agent.compareShadows({});
  const counted = { messages: 1, unread: 0, names: 1, recalled: 0 };
  expect(now.compactions[0]).toMatchObject({
    real: { hindsight: { ...counted, inView: 0, missed: 1 } },
    shadows: [{ hindsight: { ...counted, inView: 1, missed: 0 } }],
  });
  expect(now.compactions[0]?.real.hindsight).toMatchObject(withoutId((await agent.hindsight({})).now));
  // Messages that name nothing which the first overlay hides.
  await agent.appendAll({ messages: talk(20, 36) });
  await finish(agent);
  const kept = await agent.compareShadows({});
  expect(kept.compactions.map(({ n }) => n)).toEqual([2, 1]);
  expect(kept.compactions[1]?.shadows[0]?.hindsight).toMatchObject({ names: 1, inView: 1, missed: 0 });
  expect(kept.shadows).toMatchObject([
    {
      compactions: 2,
      kept: 2,
      compared: 1,
      names: 1,
      real: { inView: 0, missed: 1 },
      shadow: { inView: 1, missed: 0 },
    },
  ]);
  expect(JSON.stringify(kept)).not.toContain("src/");
});

function withoutId(now: object | null): object {
  return Object.fromEntries(Object.entries(now ?? {}).filter(([name]) => name !== "overlayId"));
}

test("what is said after the commit gives a shadow no advantage: its names are chosen from the view as it was", async () => {
  const shadows = [{ model: "cheap", policy: { stackTokens: 200 } }];
  const namesOf = async (later: readonly UIMessage[]) => {
    const gate = makeGate();
    const made = shadowed({
      shadows,
      script: async (prompt) => {
        await gate.pass();
        return summaryOf(prompt, "done");
      },
    });
    const { id } = await startRun(made.agent);
    await gate.reached();
    for (const message of later) await made.agent.append({ message });
    gate.open();
    await settled(id);
    return inside(made, (_, __, storage) => {
      const [row] = rowsOf(storage, "palimpsest_shadows");
      return (JSON.parse(row?.["words"] as string) as { pinned: { names: unknown } }).pinned.names;
    });
  };
  const early = await namesOf([]);
  expect(JSON.stringify(early)).toContain("src/");
  // What is talked of now is what names are chosen by.
  const hot = Array.from({ length: 4 }, (_, n) => asks(`hot-${n}`, "See src/fence-3.ts, src/fence-3.ts and fence."));
  expect(await namesOf(hot)).toEqual(early);
});

const kill: Record<string, (name: string) => Promise<unknown>> = {
  "the agent is reset while its model thinks": () => abortAllDurableObjects(),
};

test.each(Object.entries(kill))(
  "%s: the real summary stands, and nothing is paid for twice (R2, R3)",
  async (_, disturb) => {
    const gate = makeGate();
    const made = shadowed({
      script: async (prompt) => {
        await gate.pass();
        return summaryOf(prompt, `We changed ${OTHER}.`);
      },
    });
    const { id } = await startRun(made.agent);
    await gate.reached();
    const before = await made.agent.getRun({ runId: id });
    const view = await made.agent.getView({});
    await disturb(made.name);
    gate.open();
    await settled(id);
    const agent = stubOf(made.name);
    expect(await agent.getRun({ runId: id })).toEqual(before);
    expect(await agent.getView({})).toEqual(view);
    expect(made.asked).toHaveLength(1);
    expect((await agent.compareShadows({})).shadows).toMatchObject([
      { kept: 1, shadow: { calls: 1, inputTokens: 100 } },
    ]);
  },
);

/** The calls of a run with a shadow of one chunk. The last three are the shadow's. */
const CALLS = ["readOutline", "recordPlan", "readChunk", "saveDraft", "doFollowUp", "doFollowUp", "doFollowUp"];
const PLACES = [4, 5, 6, 7];
const FAULTS: readonly Fault[] = ["throws before", "throws after", "reset before", "reset after", "restart after"];

test.each(FAULTS.flatMap((fault) => PLACES.map((at) => ({ fault, at }))))(
  "$fault at call $at of a run with a shadow: it ends as if nothing had happened, and each call is billed once (R3)",
  async ({ fault, at }) => {
    const made = shadowed();
    const plan = planFault(made.name, { fault, at });
    const { id } = await startRun(made.agent);
    const { agent, name } = made;
    const run = await agent.waitForRun({ runId: id }).catch(() => stubOf(name).waitForRun({ runId: id }));
    await settled(id);
    expect(plan.fired).toBe(true);
    expect(plan.calls.slice(0, at)).toEqual(CALLS.slice(0, at));
    const again = stubOf(name);
    expect(await again.getRun({ runId: id })).toEqual(run);
    expect(run).toMatchObject({ outcome: { kind: "applied", degraded: false }, modelCalls: 1 });
    // The answer that was on its way into the store may be asked for again, and no other.
    const lost = at === 6 && /before/.test(fault) ? 1 : 0;
    expect(made.asked.length).toBeLessThanOrEqual(1 + lost);
    expect(made.calls).toHaveLength(1);
    expect((await again.compareShadows({})).shadows).toMatchObject([
      { compactions: 1, kept: 1, shadow: { calls: 1, inputTokens: 100, outputTokens: 10 } },
    ]);
    expect((await again.getCosts({})).shadows).toMatchObject([{ calls: 1 }]);
  },
);

test("a step that runs again because its result was lost asks nothing again (R3)", async () => {
  const made = shadowed();
  planFault(made.name, { fault: "result lost", at: 3 });
  const { id } = await startRun(made.agent);
  await made.agent.waitForRun({ runId: id });
  await settled(id);
  expect(made.asked).toHaveLength(1);
  expect((await made.agent.compareShadows({})).shadows).toMatchObject([{ kept: 1, shadow: { calls: 1 } }]);
});

test("a shadow whose model fails is recorded as failed: the run, the breaker and the budget of real runs know nothing of it", async () => {
  const { agent, run, asked, overlayId } = await compacted({
    script: () => {
      throw new Error("quokka-down");
    },
  });
  expect(run).toMatchObject({ outcome: { kind: "applied", degraded: false }, modelCalls: 1 });
  expect(asked).toHaveLength(2);
  const { breakers, spend } = await agent.health({});
  expect(breakers.map(({ model }) => model)).toEqual(["scripted"]);
  expect(spend.sessionTokens).toBe(110);
  const { shadows, compactions } = await agent.compareShadows({});
  expect(shadows).toMatchObject([{ compactions: 1, kept: 0, compared: 0 }]);
  expect(compactions[0]?.shadows[0]?.outcome).toMatchObject({ kind: "failed", code: expect.any(String) as unknown });
  expect(JSON.stringify(compactions)).not.toContain("quokka");
  expect((await agent.getShadows({ overlayId }))[0]).toMatchObject({
    summary: null,
    reason: expect.stringContaining("quokka-down") as unknown,
  });
  expect((await agent.status({})).liveRunIds).toEqual([]);
});

test("a refused answer is asked for once more, with its problems named, and then the shadow is refused", async () => {
  const refused = await compacted({ script: () => "no headings" });
  expect(refused.asked.map(({ kind }) => kind)).toEqual(["chunk", "repair"]);
  const outcomeOf = async ({ agent }: typeof refused) =>
    (await agent.compareShadows({})).compactions[0]?.shadows[0]?.outcome;
  expect(await outcomeOf(refused)).toEqual({ kind: "refused", problems: ["missing-sections"] });
  expect(refused.run.outcome).toMatchObject({ kind: "applied", degraded: false });
  const mended = await compacted({ script: (prompt, call) => (call === 0 ? "no headings" : summaryOf(prompt, OTHER)) });
  expect(await outcomeOf(mended)).toMatchObject({ kind: "kept" });
  expect(mended.asked).toHaveLength(2);
});

test("a name that the Workflow has no model for fails its shadow alone", async () => {
  const shadows = [{ model: "nobody's" }, CHEAP];
  const { agent, run } = await compacted({ shadows });
  expect(run.outcome).toMatchObject({ kind: "applied" });
  const { compactions } = await agent.compareShadows({});
  expect(compactions[0]?.shadows).toMatchObject([
    { name: "cheap", outcome: { kind: "kept" } },
    { name: "nobody's", outcome: { kind: "failed", code: "not_configured" }, calls: 0, model: null },
  ]);
});

test("a shadow costs at most its tokens of a day, over all sessions of the agent: beyond it no model is asked", async () => {
  const shadows = [{ ...CHEAP, dayTokens: 4_000 }];
  const made = await compacted({
    shadows,
    script: (prompt) => ({ text: summaryOf(prompt, OTHER), finishReason: "stop", usage: [2_000, 100] }),
  });
  shadowsOfTests.set(`${made.name}/two`, shadows);
  const { id } = await startRun(made.agent, "two");
  expect(await made.agent.waitForRun({ runId: id })).toMatchObject({ outcome: { kind: "applied" } });
  await settled(id);
  expect(made.asked).toHaveLength(1);
  const { compactions } = await made.agent.compareShadows({ sessionId: "two" });
  expect(compactions[0]?.shadows[0]).toMatchObject({ outcome: { kind: "skipped", reason: "budget-spent" }, calls: 0 });
  // A first call that does not fit is not made either.
  const small = await compacted({ shadows: [{ ...CHEAP, dayTokens: 2_000 }] });
  expect(small.asked).toHaveLength(0);
});

test("calls that are under way in other sessions count as well, until their costs are known", async () => {
  const shadows = [{ ...CHEAP, dayTokens: 5_000 }];
  const gate = makeGate();
  const made = shadowed({
    shadows,
    script: async (prompt) => {
      await gate.pass();
      return { text: summaryOf(prompt, OTHER), finishReason: "stop", usage: [2_000, 100] };
    },
  });
  const one = await startRun(made.agent);
  await gate.reached();
  shadowsOfTests.set(`${made.name}/two`, shadows);
  const two = await startRun(made.agent, "two");
  await settled(two.id);
  gate.open();
  await settled(one.id);
  expect(made.asked).toHaveLength(1);
  const outcomeOf = async (sessionId?: string) =>
    (await made.agent.compareShadows({ sessionId })).compactions[0]?.shadows[0]?.outcome;
  expect([await outcomeOf(), await outcomeOf("two")]).toMatchObject([
    { kind: "kept" },
    { kind: "skipped", reason: "budget-spent" },
  ]);
  const spent = await runInDurableObject(made.stub, (_, { storage }) => rowsOf(storage, "palimpsest_shadow_spend"));
  expect(spent).toMatchObject([{ tokens: 2_100 }]);
});

test("a shadow's model that is left alone after failures in real runs is not asked", async () => {
  const made = shadowed();
  await inside(made, (_, agent) => {
    const { health, platform } = agent.palimpsest;
    agent.palimpsest.db.transaction(() => {
      health.noteFailure("cheap", "auth", platform.now());
      health.noteAnswer("scripted", platform.now() + 1);
    });
  });
  const { id } = await startRun(made.agent);
  expect(await made.agent.waitForRun({ runId: id })).toMatchObject({ outcome: { kind: "applied" } });
  await settled(id);
  expect(made.asked).toHaveLength(0);
  const { compactions } = await made.agent.compareShadows({});
  expect(compactions[0]?.shadows[0]?.outcome).toEqual({ kind: "skipped", reason: "breaker-open" });
});

test("a long span takes a step for each chunk and one to merge, as the real one does", async () => {
  const made = shadowed({ sessionId: "long!6000" });
  const plan = planFault(made.name, { fault: null, at: 0 });
  const { id } = await startRun(made.agent, "long!6000", 49);
  await made.agent.waitForRun({ runId: id });
  await settled(id);
  expect(made.asked.map(({ kind }) => kind)).toEqual(["chunk", "chunk", "chunk", "merge"]);
  expect(plan.steps.filter((step) => step.startsWith("shadow"))).toEqual([
    expect.stringMatching(/^shadow cheap · summarize 1 of 3 · /),
    expect.stringMatching(/^shadow cheap · summarize 2 of 3 · /),
    expect.stringMatching(/^shadow cheap · summarize 3 of 3 · /),
    "shadow cheap · merge 1 of 1 · round 1",
  ]);
  for (const [step, result] of plan.results)
    if (step.startsWith("shadow")) expect(JSON.stringify(result)).not.toContain("src/");
});

test("an earlier overlay is folded in as the shadow told it", async () => {
  const made = await compacted();
  for (let from = 20; !made.asked.some(({ kind }) => kind === "merge") && from < 220; from += 16) {
    await made.agent.appendAll({ messages: talk(from, from + 16) });
    await finish(made.agent);
  }
  const merge = made.asked.find(({ kind }) => kind === "merge");
  expect(merge?.previous).toContain(OTHER);
  expect(merge?.previous).not.toContain(REAL);
});

test("another template has its sections in the shadow alone", async () => {
  const shadows = [{ name: "short", template: { sections: [{ title: "All that matters" }] } }];
  const { agent, calls, overlayId } = await compacted({ shadows });
  expect(calls.map(({ sections }) => sections.length)).toEqual([8, 1]);
  const [shadow] = await agent.getShadows({ overlayId });
  expect(shadow?.summary).toMatch(/^## All that matters/);
  expect((await agent.getCompactions({}))[0]?.summary).toContain("## Goal");
});

test("a draft that a real run paid for is not paid for again by a shadow that asks for the same (R3)", async () => {
  const { agent, asked, calls } = await compacted({ shadows: [{ name: "no names", policy: { stackTokens: 1 } }] });
  expect([asked, calls].map(({ length }) => length)).toEqual([0, 1]);
  expect((await agent.compareShadows({})).shadows).toMatchObject([{ name: "no names", kept: 1, shadow: { calls: 0 } }]);
});

test("without a shadow a run takes no step more and no row; an append beside shadows writes one row", async () => {
  const plain = newAgent(real);
  const plan = planFault(plain.name, { fault: null, at: 0 });
  const { id } = await startRun(plain.agent);
  await plain.agent.waitForRun({ runId: id });
  await settled(id);
  expect(plan.steps).toHaveLength(2);
  expect(plan.calls).toHaveLength(4);
  const tables = await inside(plain, (_, __, storage) => [...everyTable(storage).keys()]);
  expect(tables.filter((name) => name.includes("shadow"))).toEqual([]);
  const made = await compacted();
  const meter = () => inside(made, (_, agent) => ({ ...agent.palimpsest.db.meter }));
  const before = await meter();
  await made.agent.append({ message: asks("one", "Go on.") });
  expect((await meter()).rowsWritten - before.rowsWritten).toBe(1);
});

test("a shadow of one chunk takes a step, three calls of the agent and seven rows, and its run two more", async () => {
  const gate = makeGate();
  const made = shadowed({
    script: async (prompt) => {
      await gate.pass();
      return summaryOf(prompt, OTHER);
    },
  });
  // So that the tables exist.
  const first = await startRun(made.agent, "warm");
  await made.agent.waitForRun({ runId: first.id });
  const plan = planFault(made.name, { fault: null, at: 0 });
  const { id } = await startRun(made.agent);
  await gate.reached();
  const meter = () => inside(made, (_, agent) => ({ ...agent.palimpsest.db.meter }));
  const begun = await meter();
  gate.open();
  await settled(id);
  const done = await meter();
  expect(plan.steps.slice(2)).toHaveLength(1);
  expect(plan.calls.slice(4)).toEqual(["doFollowUp", "doFollowUp", "doFollowUp"]);
  // Before the model was asked, the row of the shadow was written, and what its call may cost. Then the draft, its cost by day and in the room of costs, and the shadow's row twice.
  expect(done.rowsWritten - begun.rowsWritten).toBe(5);
  expect(done.rowsRead - begun.rowsRead).toBeLessThan(60);
});

// --- the watchdog -------------------------------------------------------------------------------------------------------

/** One look of the watchdog, an hour later, at an engine that is stubbed. Returns how it was told, and whether the watchdog rests. */
function look(made: Pick<ReturnType<typeof newAgent>, "stub">, status: InstanceStatus["status"]) {
  return inside(made, async (_, agent) => {
    const { platform, dispatcher } = agent.palimpsest;
    const before = { ...platform };
    const told: string[] = [];
    Object.assign(platform, {
      now: () => Date.now() + 3_600_000,
      instance: async () => ({ status: async () => ({ status }), nudge: async () => void told.push("nudge") }),
      disarmWatchdog: async () => void told.push("rest"),
    });
    await dispatcher.watch();
    Object.assign(platform, before);
    return told;
  });
}

test("the watchdog wakes the engine of a run whose shadow is not done, and rests when its Workflow has ended (R1)", async () => {
  const gate = makeGate();
  const made = shadowed({
    script: async (prompt) => {
      await gate.pass();
      return summaryOf(prompt, OTHER);
    },
  });
  const { id } = await startRun(made.agent);
  await gate.reached();
  expect(await made.agent.status({})).toMatchObject({ liveRunIds: [] });
  expect(await look(made, "running")).toEqual(["nudge"]);
  gate.open();
  await settled(id);
  expect((await made.agent.compareShadows({})).shadows).toMatchObject([{ kept: 1 }]);
  expect(await look(made, "complete")).toEqual(["rest"]);
  expect(await inside(made, (_, __, storage) => rowsOf(storage, "palimpsest_shadow_runs"))).toEqual([]);
});

test("a shadow whose Workflow ended before it was done is failed, and one that was done is as it was", async () => {
  const gate = makeGate();
  const made = shadowed({
    shadows: [{ name: "first", policy: { stackTokens: 1 } }, CHEAP],
    script: async (prompt) => {
      await gate.pass();
      return summaryOf(prompt, OTHER);
    },
  });
  await startRun(made.agent);
  await gate.reached();
  await look(made, "errored");
  const outcomes = async () =>
    (await made.agent.compareShadows({})).compactions[0]?.shadows.map(({ name, outcome }) => [name, outcome]);
  const first = ["first", { kind: "kept", tokens: expect.any(Number) as unknown }];
  expect(await outcomes()).toEqual([["cheap", { kind: "failed", code: "unfinished" }], first]);
  gate.open();
});

// --- what it keeps of words (S2, S3) -----------------------------------------------------------------------------------

const words = (made: Pick<ReturnType<typeof newAgent>, "stub">) =>
  inside(made, (_, __, storage) => rowsOf(storage, "palimpsest_shadows").map((row) => row["words"]));

test("after clear and after delete nothing of a shadow is left, nor of one that was still being made (S2)", async () => {
  const made = await compacted();
  expect(JSON.stringify(await words(made))).toContain("key");
  await made.agent.clearMessages({});
  const left = () => inside(made, (_, __, storage) => [...everyTable(storage).values()].join("\n"));
  expect(await left()).not.toMatch(/watchdog-5|ledger-2/);
  expect(await made.agent.compareShadows({})).toEqual({ shadows: [], compactions: [] });
  for (const end of ["clear", "delete"] as const) {
    const gate = makeGate();
    shadowsOfTests.set(`${made.name}/${end}`, [CHEAP]);
    scriptModel(`${made.name}/cheap`, async (prompt) => {
      await gate.pass();
      return summaryOf(prompt, `We changed ${OTHER}.`);
    });
    const { id } = await startRun(made.agent, end);
    await gate.reached();
    if (end === "clear") await made.agent.clearMessages({ sessionId: end });
    else await made.agent.deleteSession({ sessionId: end });
    gate.open();
    await settled(id);
    expect(await left(), end).not.toMatch(/watchdog-5|ledger-2/);
    expect(await words(made), end).toEqual([]);
  }
});

test.each(["an edit", "a deletion", "a rollback"] as const)(
  "after %s under its overlay a shadow keeps numbers and no word (S3)",
  async (change) => {
    const made = await compacted();
    const { agent, overlayId } = made;
    expect((await agent.getShadows({ overlayId }))[0]?.summary).toContain(OTHER);
    const [overlay] = await agent.getCompactions({});
    const under = overlay?.span.fromId ?? "";
    if (change === "an edit") await agent.upsert({ message: say(Number(under.slice(1)), "Edited. ") });
    else if (change === "a deletion") await agent.deleteMessages({ ids: [under] });
    else await agent.rollback({ overlayId });
    expect(await words(made)).toEqual([null]);
    expect((await agent.getShadows({ overlayId }))[0]).toMatchObject({ outcome: { kind: "kept" }, summary: null });
    expect((await agent.compareShadows({})).shadows).toMatchObject([{ kept: 1, shadow: { calls: 1 } }]);
  },
);

test("an edit under an earlier overlay takes the words of each shadow whose names may come from it (S3)", async () => {
  const made = newAgent(real);
  scriptModel(`${made.name}/cheap`, (prompt) => summaryOf(prompt, "Done."));
  const policy = { protectHead: 1, tailTokenBudget: 400, summaryTokens: 300, stackTokens: 2_400, pinnedTokens: 0 };
  const ids: string[] = [];
  await inside(made, async (manager) => {
    const session = manager.getSession("stacked");
    session.compactAfter(20_000, { ...policy, minSpanTokens: 100 }).shadow({ model: "cheap" });
    for (const [from, to] of [
      [0, 12],
      [12, 22],
      [22, 32],
    ] as const) {
      await session.appendAll(talk(from, to));
      const { run } = await session.compactNow();
      await session.ended(run.id);
      ids.push(run.id);
    }
  });
  for (const id of ids) await settled(id);
  const active = (await made.agent.getCompactions({ sessionId: "stacked" })).filter(({ state }) => state === "active");
  const [older, newer] = active.slice(-2);
  const wordsOf = async () => {
    const rows = await inside(made, (_, __, storage) => rowsOf(storage, "palimpsest_shadows"));
    const found = [older, newer].map((overlay) => rows.find((row) => row["overlay_id"] === overlay?.id)?.["words"]);
    return found as (string | null)[];
  };
  const [, told] = await wordsOf();
  expect(told).toContain(older?.id);
  await inside(made, (manager) =>
    manager.getSession("stacked").upsertMessage(say(Number(older?.span.toId.slice(1)), "Edited. ")),
  );
  expect(await wordsOf()).toEqual([null, null]);
});

test("a shadow whose messages change while its model thinks is stale: its cost is kept, and no word of its answer (S3)", async () => {
  const gate = makeGate();
  const made = shadowed({
    script: async (prompt, call) => {
      if (call === 0) await gate.pass();
      return summaryOf(prompt, call === 0 ? "quokka-late" : "done");
    },
  });
  const { id } = await startRun(made.agent);
  await gate.reached();
  const [overlay] = await made.agent.getCompactions({});
  await made.agent.upsert({ message: say(Number(overlay?.span.fromId.slice(1)), "Edited. ") });
  gate.open();
  await settled(id);
  const [shadow] = (await made.agent.compareShadows({})).compactions.at(-1)?.shadows ?? [];
  expect(shadow).toMatchObject({ outcome: { kind: "stale" }, calls: 1, inputTokens: 100 });
  const left = await inside(made, (_, __, storage) => [...everyTable(storage).values()].join("\n"));
  expect(left).not.toContain("quokka");
});

const SECRET = "quokka-4711";
const blank = (text: string): string => text.replaceAll(SECRET, "[redacted: animal]");
/** Nothing but these rules knows the secret. */
const RULES: SecretRules = {
  id: "animals",
  redactText: blank,
  redactMessage: (message) => JSON.parse(blank(JSON.stringify(message))) as UIMessage,
};

test("with redactSecrets no secret stands in a shadow, nor in the reason of one that failed", async () => {
  const made = newAgent(real);
  scriptModel(`${made.name}/cheap`, (prompt) => summaryOf(prompt, `We signed in with ${SECRET}.`));
  scriptModel(`${made.name}/down`, () => {
    throw new Error(`refused: the key ${SECRET} is unknown`);
  });
  const runIds = await inside(made, async (manager) => {
    const session = manager.getSession("secrets");
    session.compactAfter(2_000, { chunkTokens: 1_500 }).redactSecrets(RULES);
    session.shadow(CHEAP).shadow({ model: "down" });
    await session.appendAll(talk(0, 24));
    const { run } = await session.compactNow();
    await session.ended(run.id);
    return [run.id];
  });
  for (const id of runIds) await settled(id);
  const [overlay] = await made.agent.getCompactions({ sessionId: "secrets" });
  const shadows = await made.agent.getShadows({ sessionId: "secrets", overlayId: overlay?.id ?? "" });
  expect(shadows).toMatchObject([
    { name: "cheap", summary: expect.stringContaining("We signed in with") as unknown },
    { name: "down", outcome: { kind: "failed" }, reason: expect.stringContaining("refused: the key") as unknown },
  ]);
  const left = await inside(made, (_, __, storage) => [...everyTable(storage).values()].join("\n"));
  expect(left).not.toContain(SECRET);
});

test("a draft that was paid for and is too long for the shadow's own policy is refused, and nothing is asked", async () => {
  const strict: ShadowOptions = { name: "strict", policy: { maxSummaryRatio: 0.001 } };
  const made = await compacted({ shadows: [strict] });
  expect(made.calls).toHaveLength(1);
  const { compactions } = await made.agent.compareShadows({});
  expect(compactions[0]?.shadows).toMatchObject([
    { name: "strict", outcome: { kind: "refused", problems: ["too-large"] }, calls: 0, tokens: null },
  ]);
});

test("limit counts compactions, each with all of its shadows", async () => {
  const { agent } = await compacted({ shadows: [CHEAP, { ...CHEAP, name: "twin", policy: { summaryTokens: 200 } }] });
  await agent.appendAll({ messages: talk(20, 36) });
  await finish(agent);
  const all = await agent.compareShadows({});
  expect(all.compactions.map(({ n, shadows }) => [n, shadows.length])).toEqual([
    [2, 2],
    [1, 2],
  ]);
  const newest = await agent.compareShadows({ limit: 1 });
  expect(newest.compactions).toEqual(all.compactions.slice(0, 1));
  expect(newest.shadows.map(({ name, compactions }) => [name, compactions])).toEqual([
    ["cheap", 1],
    ["twin", 1],
  ]);
});

test("of the summaries of a view, the newest alone shows names, as a shadow told it too", () => {
  const rows = [1, 2].map((n): ShadowRow => {
    const record = { outcome: { kind: "kept", tokens: 10 }, hindsight: null } as unknown as ShadowRecord;
    const pinned = { ...NOTHING_PINNED, names: [`src/name-${n}.ts`] } as unknown as Pinned;
    const words = { key: `src/text-${n}.ts`, pinned, namesOf: [], reason: null };
    return { n, name: "cheap", overlayId: `o${n}`, record, words };
  });
  const overlays = [1, 2].map((n) => {
    const row = {
      n,
      overlayId: `o${n}`,
      details: "{}",
      changes: "[]",
      state: "active",
      summary: "The real one.",
      fromId: "m1",
      toId: "m2",
    };
    return { row: row as unknown as OverlayRow, text: "The real one." };
  });
  const drafts = { get: (_: string, key: string) => ({ text: `## Summary\ntold in ${key}` }) };
  const core = { memory: { drafts } };
  const sql = { beside: () => rows.slice(1), find: (_: string, { n }: { n: number }) => rows[n - 1] ?? null };
  const again: NamedAgain = {
    names: ["src/name-1.ts", "src/name-2.ts", "src/text-1.ts", "src/elsewhere.ts"],
    inView: () => false,
    recalled: () => false,
  };
  const counted = { names: 4, inView: 0, recalled: 0, missed: 4, messages: 1, unread: 0 };
  const graded = { overlayId: "o2", hindsight: counted, again, overlays };
  const [grade] = gradeShadows(core as never, sql as never, "s", graded);
  expect(grade?.record.hindsight).toMatchObject({ names: 4, inView: 2, missed: 2 });
});

test("the shadows of one session are nothing to another (S1)", async () => {
  const { agent, overlayId } = await compacted();
  expect(await agent.compareShadows({ sessionId: "other" })).toEqual({ shadows: [], compactions: [] });
  const refused = await refusalOf(() => agent.getShadows({ sessionId: "other", overlayId }));
  expect(refused).toContain("[unknown_overlay]");
});

test("names are compared over compactions of which both counts are known, and calls over all", () => {
  const hindsight = { names: 4, inView: 3, recalled: 0, missed: 1, messages: 9, unread: 0 };
  const row = (n: number, counted: typeof hindsight | null): ShadowRow => {
    const record = {
      outcome: { kind: "kept", tokens: 10 },
      model: "cheap",
      calls: 1,
      inputTokens: 100,
      outputTokens: 10,
    };
    const real = { model: "real", tokens: 20, calls: 2, inputTokens: 200, outputTokens: 20 };
    const kept = { ...record, real, createdAt: n, hindsight: counted, billed: [], refused: {} };
    return { n, name: "cheap", overlayId: `o${n}`, record: kept as unknown as ShadowRecord, words: null };
  };
  const both = new Map([1, 2].map((n) => [`o${n}`, hindsight as unknown as Hindsight]));
  const { shadows } = compareRows([row(1, hindsight), row(2, null)], both);
  expect(shadows).toMatchObject([
    {
      compactions: 2,
      compared: 1,
      names: 4,
      real: { missed: 1, tokens: 20, calls: 4 },
      shadow: { tokens: 10, calls: 2 },
    },
  ]);
});

test("a comparison holds no word of the conversation", async () => {
  const { agent } = await compacted({ script: () => "no headings" });
  expect(JSON.stringify(await agent.compareShadows({}))).not.toMatch(/src\/|headings|parser/);
});

// --- options ------------------------------------------------------------------------------------------------------------

const hint = "x".repeat(6_000);
const BAD: readonly (readonly [name: string, options: ShadowOptions])[] = [
  ["a model without a name", { model: " " }],
  ["a model's name that is too long", { model: "m".repeat(201) }],
  ["a name in two lines", { model: "m", name: "a\nb" }],
  ["a name that is too long", { model: "m", name: "n".repeat(61) }],
  ["a template without a section", { template: { sections: [] } }],
  ["a template that is too large", { template: { sections: [{ title: "All", hint }] } }],
  ["a policy that is none", { policy: { summaryTokens: 0 } }],
  ["a share over one", { policy: { maxSummaryRatio: 2 } }],
  ["an option of the cut", { policy: { tailTokenBudget: 100 } as ShadowOptions["policy"] }],
  ["no tokens", { model: "m", dayTokens: 0 }],
  ["nothing that differs", {}],
  ["nothing that differs but its name", { name: "same" }],
];

test.each(BAD)("%s is refused as invalid_options, before anything is written", async (_, options) => {
  await inside(newAgent(), (manager, _agent, storage) => {
    const session = manager.getSession("s");
    expect(() => session.shadow(options).id).toThrow("[invalid_options]");
    expect([...everyTable(storage).keys()].filter((name) => name.includes("palimpsest"))).toEqual([]);
  });
});

const refusal = (session: { status(): Promise<unknown> }) => session.status().then(String, String);

test("a second shadow of a name is refused, and so is a fifth; the same declared again is one", async () => {
  await inside(newAgent(), async (manager) => {
    const named = (name: string) => manager.getSession(name);
    const same = named("same").shadow(CHEAP).shadow(CHEAP);
    expect(await refusal(same)).not.toContain("invalid_options");
    const refusals = [
      () =>
        refusal(
          named("two")
            .shadow(CHEAP)
            .shadow({ ...CHEAP, dayTokens: 9 }),
        ),
      () => refusal([1, 2, 3, 4, 5].reduce((session, n) => session.shadow({ model: `m${n}` }), named("five"))),
    ];
    for (const each of refusals) expect(await (async () => each())().catch(String)).toContain("[invalid_options]");
  });
});

test("a manager's shadow is one of each of its sessions", async () => {
  const made = newAgent(real);
  const asked = scriptModel(`${made.name}/cheap`, other);
  await runInDurableObject(made.stub, (instance: PalimpsestAgent) => {
    (SessionManager.create(instance) as FullManager).shadow(CHEAP);
  });
  const { id } = await startRun(made.agent, "any");
  await made.agent.waitForRun({ runId: id });
  await settled(id);
  expect(asked).toHaveLength(1);
});

test("the example of docs/shadow.md does what it says", async () => {
  const { stub, agent, overlayId } = await compacted();
  await agent.append({ message: asks("again", `Look at ${OTHER} once more.`) });
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = (SessionManager.create(instance) as FullManager).getSession("");
    // example
    const { shadows, compactions } = await session.compareShadows();
    const [cheap] = shadows; // { name, compactions, kept, compared, names, real, shadow }
    const words = `missed ${cheap?.shadow.missed} of ${cheap?.names}, the real one ${cheap?.real.missed}`;
    const [newest] = compactions; // { overlayId, n, createdAt, real, shadows }
    const [told] = await session.getShadows(newest?.overlayId ?? ""); // { name, model, outcome, summary, reason }
    // end
    expect(words).toBe("missed 0 of 1, the real one 1");
    expect(newest?.overlayId).toBe(overlayId);
    expect(told?.summary).toContain(OTHER);
  });
});
