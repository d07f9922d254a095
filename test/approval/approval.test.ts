/** A proposal is an overlay that a person puts in force or drops. Tests their answer, a late answer, and silence. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { RunEvent } from "../../src/agent/events.ts";
import type { ApprovalOptions } from "../../src/approval/room.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { findInvisible } from "../../src/steps/text/text.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun } from "../agents.ts";
import { say } from "../conversation.ts";
import { settled } from "../engine.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const DAY = 86_400_000;

/** A run whose summary waits for a person. */
async function runThatWaits(options: ApprovalOptions = {}) {
  const made = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await configure(made.stub, (agent) => Session.create(agent).compactAfter(2_000).requireApproval(options));
  const run = await startRun(made.agent);
  await untilWaiting(made.agent, run.id);
  return { ...made, run };
}

function configure(stub: DurableObjectStub<PalimpsestAgent>, set: (agent: PalimpsestAgent) => Session): Promise<void> {
  return runInDurableObject(stub, async (agent: PalimpsestAgent) => void (await set(agent).status()));
}

async function untilWaiting(agent: PalimpsestAgent, runId: string): Promise<RunRecord> {
  for (;;) {
    const run = await agent.getRun({ runId });
    if (run.state === "proposed" || run.outcome !== null) return run;
    await scheduler.wait(1);
  }
}

/** Days later, for this object. */
function later(stub: DurableObjectStub<PalimpsestAgent>, ms: number): Promise<void> {
  return runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) => {
    Object.assign(palimpsest.platform, { now: () => Date.now() + ms });
  });
}

function look(stub: DurableObjectStub<PalimpsestAgent>): Promise<void> {
  return runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) => palimpsest.dispatcher.watch());
}

async function summaries(agent: PalimpsestAgent): Promise<string[]> {
  return (await agent.getCompactions({})).map(({ summary }) => summary);
}

// --- yes and no -----------------------------------------------------------------------------------------------------------

test("a sound summary is proposed, shown in whole, and nothing is committed or held up until a person says yes; no engine waits (C1, R2)", async () => {
  const { agent, run, calls } = await runThatWaits();
  const proposal = await agent.getProposal({ runId: run.id });
  expect(proposal).toMatchObject({ runId: run.id, degraded: false, onTimeout: "discard" });
  const [waits] = await agent.liveRuns({});
  expect(waits).toMatchObject({ runId: run.id, state: "proposed" });
  expect(waits?.done).toBeLessThan(waits?.total ?? 0);
  const { status, output } = await settled(run.id);
  expect([status, output]).toEqual(["complete", { kind: "proposed", overlayId: expect.any(String) as unknown }]);
  expect(Math.abs((proposal?.expiresAt ?? 0) - (proposal?.askedAt ?? 0) - DAY)).toBeLessThan(60_000);
  expect(await summaries(agent)).toEqual([]);
  await agent.append({ message: say(17) });
  expect((await agent.status({})).waiting).toMatchObject({ reason: "approval-pending" });
  expect(await agent.runs({})).toHaveLength(1);

  expect(await agent.approveRun({ runId: run.id })).toMatchObject({ kind: "approved", run: { id: run.id } });
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended.outcome).toMatchObject({ kind: "applied" });
  expect(await summaries(agent)).toEqual([proposal?.summary]);
  expect(calls).toHaveLength(1);
  expect(await agent.getProposal({ runId: run.id })).toBeNull();
});

test("clients are told once that a summary waits, at the commit that proposed it (R1)", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await configure(made.stub, (agent) => Session.create(agent).compactAfter(2_000).requireApproval());
  const told: RunEvent[] = [];
  await runInDurableObject(made.stub, ({ palimpsest: { platform } }: PalimpsestAgent) => {
    Object.assign(platform, { broadcast: (event: RunEvent) => void told.push(event) });
  });
  const run = await startRun(made.agent);
  await untilWaiting(made.agent, run.id);
  const waits = told.filter(({ state }) => state === "proposed");
  expect(waits).toMatchObject([{ runId: run.id, step: "add compaction", outcome: null }]);
  expect(told.at(-1)).toBe(waits[0]);
});

test("no is no: the run ends with the reason, and another try pays for nothing again (R1, R3)", async () => {
  const { agent, run, calls } = await runThatWaits();
  const reason = "It forgets the ledger.";
  expect(await agent.rejectRun({ runId: run.id, reason })).toMatchObject({ kind: "rejected" });
  expect((await agent.getRun({ runId: run.id })).outcome).toEqual({
    kind: "nothing",
    reason: "declined",
    detail: reason,
  });
  expect(await summaries(agent)).toEqual([]);

  const again = await agent.retryRun({ runId: run.id });
  await untilWaiting(agent, again.run.id);
  await agent.approveRun({ runId: again.run.id });
  expect((await agent.waitForRun({ runId: again.run.id })).outcome).toMatchObject({ kind: "applied" });
  expect(calls).toHaveLength(1);
});

test("a text of the person's own is audited: what is unsound is named and changes nothing, what is sound is what is committed", async () => {
  const { agent, run } = await runThatWaits();
  const proposed = (await agent.getProposal({ runId: run.id }))?.summary ?? "";
  for (const [summary, kind] of [
    ["", "empty"],
    ['{"error": {"code": 529}}', "refusal"],
    [proposed.replaceAll(/^[^#\n].*$/gm, ""), "hollow"],
    [proposed.replaceAll(/^[^#\n].*$/gm, "- None."), "hollow"],
    [proposed.replace("what was done", "I ran it. ".repeat(2_000)), "too-large"],
    [`I'm sorry, I can't do that.\n${proposed}`, "refusal"],
  ] as const) {
    const decided = await agent.approveRun({ runId: run.id, summary });
    expect(decided).toMatchObject({ kind: "unsound" });
    expect(JSON.stringify(decided)).toContain(`"${kind}"`);
  }
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "proposed", outcome: null });
  const summary = proposed.replace("what was done", "what a person says was done");
  expect(await agent.approveRun({ runId: run.id, summary })).toMatchObject({ kind: "approved" });
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(await summaries(agent)).toEqual([summary]);
});

const HIDDEN = "\u202egnp.exe\u202c\u200b \u{e0041}\u{e0042}\u3164\u0000\u001b[31m";

test("what is approved is what was read: no proposal holds what nobody sees, and a text of one's own that does is refused by name", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, `Deploy with ${HIDDEN} now.\u2028`));
  await configure(made.stub, (agent) => Session.create(agent).compactAfter(2_000).requireApproval());
  const run = await startRun(made.agent);
  await untilWaiting(made.agent, run.id);
  const proposed = (await made.agent.getProposal({ runId: run.id }))?.summary ?? "";
  expect(proposed).toContain("Deploy with gnp.exe [31m now. \n");
  expect(findInvisible(proposed)).toEqual([]);

  const edited = proposed.replace("gnp.exe", HIDDEN);
  const refused = await made.agent.approveRun({ runId: run.id, summary: edited });
  expect(refused).toMatchObject({ kind: "unsound", problems: [{ kind: "unseen" }] });
  expect(JSON.stringify(refused)).toContain("U+202E, U+202C, U+200B, U+E0041, U+E0042, U+3164, U+0000, U+001B");
  expect(await made.agent.getRun({ runId: run.id })).toMatchObject({ state: "proposed" });

  const windows = proposed.replaceAll("\n", "\r\n");
  expect(await made.agent.approveRun({ runId: run.id, summary: windows })).toMatchObject({ kind: "approved" });
  await made.agent.waitForRun({ runId: run.id });
  expect(await summaries(made.agent)).toEqual([proposed]);
});

// --- too late, too early, too often ---------------------------------------------------------------------------------------

test("the first word counts: a second yes, a no after a yes and a yes after the end are told that they come late (R1, C1)", async () => {
  const { agent, run } = await runThatWaits();
  const summary = (await agent.getProposal({ runId: run.id }))?.summary;
  await agent.approveRun({ runId: run.id });
  for (const call of [
    () => agent.approveRun({ runId: run.id, summary: `${summary} more` }),
    () => agent.rejectRun({ runId: run.id }),
  ]) {
    expect(await call()).toMatchObject({ kind: "late", run: { id: run.id } });
  }
  await agent.waitForRun({ runId: run.id });
  expect(await agent.approveRun({ runId: run.id })).toMatchObject({
    kind: "late",
    run: { outcome: { kind: "applied" } },
  });
  expect(await summaries(agent)).toEqual([summary]);
});

test.for(["apply", "discard"] as const)(
  "silence means what was asked for: %s; a yes after that comes late (R1)",
  async (onTimeout) => {
    const { agent, stub, run } = await runThatWaits({ timeoutMs: 3 * DAY, onTimeout });
    await look(stub);
    expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "proposed" });
    await later(stub, 3 * DAY);
    await look(stub);
    const { outcome } = await agent.waitForRun({ runId: run.id });
    expect(outcome).toMatchObject(
      onTimeout === "apply" ? { kind: "applied" } : { kind: "nothing", reason: "declined" },
    );
    expect(await summaries(agent)).toHaveLength(onTimeout === "apply" ? 1 : 0);
    expect(await agent.rejectRun({ runId: run.id })).toMatchObject({ kind: "late" });
  },
);

test("an edit under a proposal drops it and ends its run at once, and so does a deletion: nobody can approve it, and its words are gone (C3, S3)", async () => {
  for (const change of ["edit", "deletion"]) {
    const { agent, run } = await runThatWaits();
    const { plan } = await agent.getRun({ runId: run.id });
    const id = plan?.span.fromId ?? "";
    if (change === "edit") await agent.update({ message: say(Number(id.slice(1)), "Edited. ") });
    else await agent.deleteMessages({ ids: [id] });
    expect(await agent.getProposal({ runId: run.id })).toBeNull();
    expect((await agent.getRun({ runId: run.id })).outcome).toEqual({ kind: "stale", reason: "changed" });
    expect(await agent.approveRun({ runId: run.id })).toMatchObject({ kind: "late" });
    expect(await summaries(agent)).toEqual([]);
  }
});

test("nobody puts a proposal in force by its id: it is no summary of the session until it is approved (C1)", async () => {
  const { agent, run } = await runThatWaits();
  const { output } = await settled(run.id);
  const { overlayId } = output as { overlayId: string };
  for (const call of [
    () => agent.restore({ overlayId }),
    () => agent.rollback({ overlayId }),
    () => agent.expand({ overlayId }),
    () => agent.getViewAsOf({ overlayId }),
  ])
    expect(await refusalOf(call)).toContain("[unknown_overlay]");
  expect((await agent.getView({})).elements.map(({ kind }) => kind)).not.toContain("overlay");
});

test("an approval passes the fence of any commit: one that would cross another summary commits nothing (C2)", async () => {
  const { agent, run } = await runThatWaits();
  const { plan } = await agent.getRun({ runId: run.id });
  const [from, to] = [plan?.span.toId ?? "", `m${Number(plan?.span.toId.slice(1)) + 1}`];
  await agent.addCompaction({ summary: "short", fromMessageId: from, toMessageId: to });
  expect(await agent.approveRun({ runId: run.id })).toMatchObject({
    kind: "stale",
    run: { outcome: { kind: "stale", reason: "overlap" } },
  });
  expect(await summaries(agent)).toEqual(["short"]);
});

test("a yes to what was cleared or deleted finds nothing to say yes to (S2)", async () => {
  const cleared = await runThatWaits();
  await cleared.agent.clearMessages({});
  expect(await cleared.agent.approveRun({ runId: cleared.run.id })).toMatchObject({ kind: "late" });
  const deleted = await runThatWaits();
  await deleted.agent.deleteSession({ sessionId: "" });
  expect(await refusalOf(() => deleted.agent.approveRun({ runId: deleted.run.id }))).toContain("[unknown_run]");
});

test("a clear takes the words of whoever said no (S2)", async () => {
  const { agent, run } = await runThatWaits();
  await agent.rejectRun({ runId: run.id, reason: "It tells of the lighthouse." });
  await agent.clearMessages({});
  expect(JSON.stringify(await agent.runs({}))).not.toContain("lighthouse");
});

test("who is not asked yet cannot answer", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const run = await startRun(agent);
  const refusals = [
    await refusalOf(() => agent.approveRun({ runId: run.id })),
    await refusalOf(() => agent.rejectRun({ runId: run.id })),
  ];
  const ended = await agent.waitForRun({ runId: run.id });
  expect(await agent.approveRun({ runId: run.id })).toMatchObject({
    kind: "late",
    run: { outcome: { kind: "applied" } },
  });
  for (const refusal of refusals) expect(refusal).toMatch(/^$|\[invalid_state\]/);
  expect(ended.steps.map(({ name }) => name).join()).not.toContain("approval");
});

// --- lost words, lost objects ---------------------------------------------------------------------------------------------

test("a wait outlives the object that asked (R1)", async () => {
  const { agent, stub, run } = await runThatWaits();
  await evictDurableObject(stub);
  expect(await agent.getProposal({ runId: run.id })).not.toBeNull();
  await agent.approveRun({ runId: run.id });
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
});

// --- with the other controls ------------------------------------------------------------------------------------------------

test("a run that proposes has nothing to pause, to resume or to do again", async () => {
  const { agent, run } = await runThatWaits();
  for (const call of [
    () => agent.pauseRun({ runId: run.id }),
    () => agent.resumeRun({ runId: run.id }),
    () => agent.retryRunFrom({ runId: run.id, stepName: "plan the cut" }),
  ])
    expect(await refusalOf(call)).toMatch(/\[invalid_state\].*Approve or reject/);
});

test("a run that waits can be cancelled", async () => {
  const { agent, run } = await runThatWaits();
  expect((await agent.cancelRun({ runId: run.id })).outcome).toEqual({ kind: "cancelled" });
  expect(await agent.getProposal({ runId: run.id })).toBeNull();
  expect(await agent.approveRun({ runId: run.id })).toMatchObject({ kind: "late" });
});

test("a split waits as well; no to its summary is no to the split", async () => {
  const { agent, run } = await runThatWaits();
  await agent.rejectRun({ runId: run.id });
  const split = await agent.compactAndSplit({ sessionId: "" });
  await untilWaiting(agent, split.run.id);
  await agent.rejectRun({ runId: split.run.id });
  expect((await agent.newestSession({ sessionId: "" })).id).toBe("");
});

test.for<[ApprovalOptions]>([
  [{ timeoutMs: 0 }],
  [{ timeoutMs: 31 * DAY }],
  [{ timeoutMs: Number.NaN }],
  [{ onTimeout: "maybe" as "apply" }],
])("%j is refused where it is said", async ([options]) => {
  const { stub } = newAgent();
  const refused = await runInDurableObject(stub, (agent: PalimpsestAgent) => {
    return refusalOf(async () => Session.create(agent).requireApproval(options));
  });
  expect(refused).toContain("[invalid_options]");
});

test("a deploy without the room leaves a proposal until its time is over (C1, R1)", async () => {
  const { agent, stub, run } = await runThatWaits();
  await runInDurableObject(stub, ({ palimpsest: { settings } }: PalimpsestAgent) => {
    settings.set("", { ...settings.get(""), approval: null });
  });
  await look(stub);
  expect(await agent.getRun({ runId: run.id })).toMatchObject({ state: "proposed" });
  await later(stub, DAY);
  await look(stub);
  expect((await agent.getRun({ runId: run.id })).outcome).toMatchObject({ kind: "nothing", reason: "declined" });
  expect(await summaries(agent)).toEqual([]);
});
