/** Changes to a conversation during a model's call, each race with its one outcome. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { ENOUGH, newAgent, overlayOf, skipRetryDelays, startRun } from "../../agents.ts";
import { say, talk, textOf } from "../../conversation.ts";
import { settled } from "../../engine.ts";
import { makeGate, summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { rowsOf } from "../../rows.ts";

skipRetryDelays();

/** A run whose first call of the model waits at a gate. Later calls pass. */
async function runAtGate(options: { sessionId?: string; messages?: number } = {}) {
  const gate = makeGate();
  const made = newAgent(async (prompt, call) => {
    if (call === 0) await gate.pass();
    return summaryOf(prompt, `summary ${call}`);
  });
  const run = await startRun(made.agent, options.sessionId, options.messages);
  await gate.reached();
  return { ...made, run, gate };
}

/** The span that a live run was planned on, as the numbers of its first and last message. */
async function spanOf(agent: PalimpsestAgent, { id }: RunRecord) {
  const { plan } = await agent.getRun({ runId: id });
  return { first: Number(plan?.span.fromId.slice(1)), last: Number(plan?.span.toId.slice(1)) };
}

async function outcomes(agent: PalimpsestAgent, sessionId = ""): Promise<readonly (string | undefined)[]> {
  for (;;) {
    const runs = await agent.runs({ sessionId });
    const live = runs.find((run) => run.outcome === null);
    if (live === undefined) return runs.map((run) => run.outcome?.kind).toReversed();
    await agent.waitForRun({ runId: live.id });
  }
}

async function shown(agent: PalimpsestAgent, leafId?: string): Promise<string> {
  return textOf((await agent.getView(leafId === undefined ? {} : { leafId })).messages);
}

// --- writers do not wait, runs do not pile up ---------------------------------------------------------------------------

test("appends resolve while the model thinks, and are kept after the summary (M1)", async () => {
  const { agent, run, gate } = await runAtGate();
  await agent.append({ message: say(ENOUGH) });
  expect((await agent.status({})).liveRunIds).toEqual([run.id]);
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  const { messages } = await agent.getView({});
  expect(messages.at(-1)).toEqual(say(ENOUGH));
});

test("two requests at once are one run (R2)", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 13) });
  const receipts = await Promise.all([agent.compact({}), agent.compactNow({}), agent.compact({})]);
  expect(new Set(receipts.map(({ run }) => run.id)).size).toBe(1);
  expect(receipts.filter(({ joined }) => !joined)).toHaveLength(1);
  expect(await outcomes(agent)).toEqual(["applied"]);
  expect(calls).toHaveLength(1);
});

test("what crosses the threshold again during a run starts the next one when that ends, without another append (R2)", async () => {
  const { agent, run, gate } = await runAtGate();
  await agent.appendAll({ messages: talk(ENOUGH, ENOUGH + 20) });
  expect(await agent.runs({})).toHaveLength(1);
  gate.open();
  await agent.waitForRun({ runId: run.id });
  const [next] = await agent.runs({});
  expect(next).toMatchObject({ n: 2, trigger: "threshold", leafId: `m${ENOUGH + 19}` });
  expect((await outcomes(agent)).every((kind) => kind === "applied")).toBe(true);
  expect((await agent.status({})).viewTokens).toBeLessThan(2_000);
});

test("two branches of one session may each have a run (R2)", async () => {
  const { agent, run, gate } = await runAtGate();
  const twin = talk(3, ENOUGH + 2).map((message) => ({ ...message, id: `twin-${message.id}` }));
  await agent.appendAll({ messages: twin, parentId: "m2" });
  const [second] = await agent.runs({});
  expect(second).toMatchObject({ n: 2, leafId: twin.at(-1)?.id });
  expect((await agent.waitForRun({ runId: second?.id ?? "" })).outcome).toMatchObject({ kind: "applied" });
  expect((await agent.getRun({ runId: run.id })).outcome).toBeNull();
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  expect(await shown(agent)).not.toContain("summary 0");
  expect(await shown(agent, run.leafId)).toContain("summary 0");
});

// --- the conversation changes under the run -----------------------------------------------------------------------------

test("an edit inside the span makes the run stale, and the next one summarises the new text (C3)", async () => {
  const { agent, run, gate, calls } = await runAtGate();
  const { first } = await spanOf(agent, run);
  await agent.update({ message: say(first, "CORRECTED. ") });
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toEqual({ kind: "stale", reason: "changed" });
  expect(await outcomes(agent)).toEqual(["stale", "applied"]);
  expect(calls.at(-1)?.transcript).toContain("CORRECTED.");
  expect(await shown(agent)).not.toContain("summary 0");
});

test("after an edit only the part that changed is paid for again (R3)", async () => {
  const gate = makeGate();
  const { agent, calls } = newAgent(async (prompt) => {
    if (prompt.kind === "merge") await gate.pass();
    return summaryOf(prompt, prompt.kind);
  });
  const run = await startRun(agent, "long!6000", 49);
  await gate.reached();
  expect(calls.map((call) => call.kind)).toEqual(["chunk", "chunk", "chunk", "merge"]);
  const { first } = await spanOf(agent, run);
  await agent.update({ sessionId: "long!6000", message: say(first, "NEW") });
  gate.open();
  expect(await outcomes(agent, "long!6000")).toEqual(["stale", "applied"]);
  expect(calls.slice(4).map((call) => call.kind)).toEqual(["chunk", "merge"]);
});

test("an edit outside the span does not concern the run (C3)", async () => {
  const { agent, run, gate } = await runAtGate();
  const { last } = await spanOf(agent, run);
  await agent.update({ message: say(0, "head ") });
  await agent.update({ message: say(last + 1, "tail ") });
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  expect(await shown(agent)).toContain("tail ");
});

test.each(["first", "middle", "last"])(
  "deleting the %s message of the span makes the run stale (C3)",
  async (which) => {
    const { agent, run, gate } = await runAtGate();
    const { first, last } = await spanOf(agent, run);
    const victim = { first, middle: first + 2, last }[which] ?? first;
    await agent.deleteMessages({ ids: [`m${victim}`] });
    gate.open();
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "stale" });
    expect((await outcomes(agent)).slice(1)).not.toContain("failed");
    expect(await shown(agent)).not.toContain("summary 0");
  },
);

test("deleting the leaf that a run looks at neither fails the run nor starts a second one beside it (R1, R2)", async () => {
  const { agent, run, gate } = await runAtGate();
  await agent.deleteMessages({ ids: [run.leafId] });
  expect((await agent.status({})).liveRunIds).toEqual([run.id]);
  await agent.appendAll({ messages: talk(ENOUGH, ENOUGH + 2) });
  expect((await agent.status({})).liveRunIds).toEqual([run.id]);
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
});

test("clear ends the run as stale at once, and what its model says later is kept nowhere (S2)", async () => {
  const { agent, stub, run, gate } = await runAtGate();
  const waiting = agent.waitForRun({ runId: run.id });
  await agent.clearMessages({});
  expect((await waiting).outcome).toEqual({ kind: "stale", reason: "gone" });
  gate.open();
  await agent.appendAll({ messages: talk(100, 102) });
  const { status } = await settled(run.id);
  expect(status).toBe("complete");
  expect(await agent.getHistory({})).toEqual(talk(100, 102));
  expect(await agent.getCompactions({})).toEqual([]);
  const drafts = await runInDurableObject(stub, (_instance, { storage }) => rowsOf(storage, "palimpsest_drafts"));
  expect(drafts).toEqual([]);
});

test("a branch from the middle of the span sees its own messages; the branch that was compacted sees the summary", async () => {
  const { agent, run, gate } = await runAtGate();
  const { first } = await spanOf(agent, run);
  await agent.append({ message: say(50), parentId: `m${first + 1}` });
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  const branch = await agent.getView({ apart: true });
  expect(branch.messages).toEqual([...talk(0, first + 2), say(50)]);
  expect(await shown(agent, run.leafId)).toContain("summary 0");
});

// --- other overlays come and go -----------------------------------------------------------------------------------------

test("a summary laid inside the span meanwhile is covered: the run is rebased (C2)", async () => {
  const { agent, run, gate } = await runAtGate();
  const { first } = await spanOf(agent, run);
  await agent.cover({ summary: "by hand", fromId: `m${first + 1}`, toId: `m${first + 3}` });
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied", rebased: true });
  expect(await shown(agent)).toContain("summary 0");
  expect(await shown(agent)).not.toContain("by hand");
});

test("a summary laid across the span's edge makes the run stale (C2)", async () => {
  const { agent, run, gate } = await runAtGate();
  const { last } = await spanOf(agent, run);
  await agent.cover({ summary: "by hand", fromId: `m${last - 1}`, toId: `m${last + 1}` });
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toEqual({ kind: "stale", reason: "overlap" });
  expect(await shown(agent)).toContain("by hand");
});

test("rolling back the overlay that a run builds on loses nothing: the run covers its messages too (M1, V1)", async () => {
  const gate = makeGate();
  const { agent } = newAgent(async (prompt, call) => {
    if (call === 1) await gate.pass();
    return summaryOf(prompt, `summary ${call}`);
  });
  const first = await agent.waitForRun({ runId: (await startRun(agent)).id });
  await agent.appendAll({ messages: talk(ENOUGH, ENOUGH + 10) });
  const [second] = await agent.runs({});
  await gate.reached();
  await agent.rollback({ overlayId: overlayOf(first) });
  gate.open();
  const ended = await agent.waitForRun({ runId: second?.id ?? "" });
  expect(ended.outcome).toMatchObject({ kind: "applied", rebased: true });
  const overlayId = overlayOf(ended);
  const from = Number(first.plan?.span.fromId.slice(1));
  const to = Number(ended.plan?.span.toId.slice(1));
  expect(await agent.expand({ overlayId })).toEqual(talk(from, to + 1));
  expect(await shown(agent)).not.toContain("summary 0");
});
