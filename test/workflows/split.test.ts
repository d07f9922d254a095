/** Splitting a session through the real Workflow. At every moment one of the two takes messages, and none is lost. */
import type { UIMessage } from "ai";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { MAX_INSTANCE_RESTARTS } from "../../src/limits.ts";
import type { Outcome, RunRecord } from "../../src/memory/runs/runs.ts";
import type { PortMethod } from "../../src/workflows/port.ts";
import { newAgent, overlayOf, refusalOf, skipRetryDelays, startRun, stubOf } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { makeGate, openGates, summaryOf } from "../scripted-model.ts";
import { planFault } from "./faults/faulty-run.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

afterEach(() => {
  vi.useRealTimers();
  openGates();
});

/** Never compacts by itself in these tests. */
const PARENT = "parent!9000";
const SAID = 30;

type Stub = ReturnType<typeof newAgent>["stub"];
type Split = Outcome & { readonly kind: "split" };

function splitOf({ outcome }: RunRecord): Split {
  if (outcome?.kind !== "split") throw new Error(`The run came to ${JSON.stringify(outcome)}.`);
  return outcome;
}

/** An agent with a conversation to split, and a summariser that may be held. */
async function withParent(hold: () => Promise<void> = async () => undefined) {
  const made = newAgent(async (prompt) => {
    await hold();
    return summaryOf(prompt, "what was done");
  });
  await made.agent.appendAll({ sessionId: PARENT, messages: talk(0, SAID) });
  return made;
}

/** As {@link withParent}, with a split whose summariser waits at a gate. */
async function splitAtGate() {
  const gate = makeGate();
  const made = await withParent(() => gate.pass());
  const { run } = await made.agent.compactAndSplit({ sessionId: PARENT });
  await gate.reached();
  return { ...made, run, gate };
}

/**
 * Holds for the rest of the object's life. Uses a prototype of its own, because a call from outside reaches no property of the object
 * itself.
 */
function replaceStep(instance: PalimpsestAgent, step: PalimpsestAgent["compactionStep"] | null): void {
  const proto = Object.getPrototypeOf(instance) as object;
  const own = Object.create(proto, step === null ? {} : { compactionStep: { value: step } }) as object;
  Object.setPrototypeOf(instance, step === null ? (Object.getPrototypeOf(proto) as object) : own);
}

/** Stores drafts, and fails where one would be committed. */
function storeOnly(instance: PalimpsestAgent): PalimpsestAgent["compactionStep"] {
  const step = instance.compactionStep.bind(instance);
  return async (runId, method, args) => {
    if (method === "commit") throw new Error("no way through");
    return step(runId, method, args);
  };
}

/** Of all that a session holds of its path, oldest first. */
async function idsOf(agent: PalimpsestAgent, sessionId: string): Promise<string[]> {
  const lines = (await agent.exportTranscript({ sessionId })).split("\n").filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as UIMessage).id);
}

/** Of the agent, newest first. */
async function sessionIds(agent: PalimpsestAgent): Promise<string[]> {
  return (await agent.listSessions({})).map(({ id }) => id);
}

test("a split ends the session and opens a child that shows the same view: head, summary, tail", async () => {
  const { agent } = await withParent();
  const { run, joined } = await agent.compactAndSplit({ sessionId: PARENT, name: "Second half" });
  expect([joined, run.kind]).toEqual([false, "split"]);
  const ended = await agent.waitForRun({ runId: run.id });
  const { childId, overlayId, tokensBefore, tokensAfter } = splitOf(ended);
  expect(ended.steps.at(-1)?.name).toBe("add compaction");
  expect(tokensAfter).toBeLessThan(tokensBefore);
  expect((await agent.status({ sessionId: childId })).viewTokens).toBe(tokensAfter);
  const view = await agent.getView({ sessionId: childId });
  expect(view.messages).toEqual((await agent.getView({ sessionId: PARENT })).messages);
  expect(textOf(view.messages)).toContain("what was done");
  expect(view.elements.filter(({ kind }) => kind === "overlay").map(({ id }) => id)).toEqual([overlayId]);
  expect(await agent.getSessionInfo({ sessionId: childId })).toMatchObject({
    name: "Second half",
    parentSessionId: PARENT,
    source: "split",
    endedAt: null,
  });
  expect(await agent.getSessionInfo({ sessionId: PARENT })).toMatchObject({
    endReason: "compaction",
    continuedBy: childId,
  });
  expect(await agent.newestSession({ sessionId: PARENT })).toMatchObject({ id: childId });
  // Nothing of the parent was deleted.
  expect(await agent.getPathLength({ sessionId: PARENT })).toBe(SAID);
  expect(await agent.search({ sessionId: PARENT, query: "watchdog" })).not.toEqual([]);
  expect(await refusalOf(() => agent.append({ sessionId: PARENT, message: say(99) }))).toMatch(
    new RegExp(`^\\[session_ended\\] .*"${childId}"`),
  );
  expect(await agent.append({ sessionId: childId, message: say(99) })).toMatchObject({ inserted: true });
});

test("a child is compacted and split like any session: levels, pins and names go on (C2, V1)", async () => {
  const { agent } = await withParent();
  const sessions = [PARENT];
  for (let n = 1; n <= 3; n++) {
    const { run } = await agent.compactAndSplit({ sessionId: sessions.at(-1) });
    const { childId } = splitOf(await agent.waitForRun({ runId: run.id }));
    sessions.push(childId);
    await agent.appendAll({ sessionId: childId, messages: talk(n * 100, n * 100 + 12) });
    for (const { id, outcome } of await agent.runs({ sessionId: childId }))
      if (outcome === null) await agent.waitForRun({ runId: id });
  }
  expect(await agent.newestSession({ sessionId: PARENT })).toMatchObject({ id: sessions.at(-1) });
  const view = await agent.getView({ sessionId: sessions.at(-1), apart: true });
  expect(view.messages[0]).toEqual(say(0));
  expect(view.messages.at(-1)).toEqual(say(311));
  expect(view.tokens).toBeLessThan(2_500);
  const overlays = await agent.getCompactions({ sessionId: sessions.at(-1) });
  expect(Math.max(...overlays.map(({ details }) => details.level))).toBeGreaterThan(0);
});

test("what is said while the summary is being made is in the tail of the child; what comes after, in the child alone (M1)", async () => {
  const { agent, run, gate } = await splitAtGate();
  for (let n = SAID; n < SAID + 3; n++) await agent.append({ sessionId: PARENT, message: say(n) });
  gate.open();
  const { childId } = splitOf(await agent.waitForRun({ runId: run.id }));
  const { messages } = await agent.getView({ sessionId: childId, apart: true });
  expect(messages.slice(-3)).toEqual(talk(SAID, SAID + 3));
  expect(await agent.getMessage({ sessionId: PARENT, id: `m${SAID + 2}` })).toEqual(say(SAID + 2));
});

test("messages that keep coming land in exactly one session each, and the conversation holds them all, in order (M1)", async () => {
  const { agent, run, gate } = await splitAtGate();
  const taken: string[] = [];
  let n = SAID;
  for (let switched = false; !switched || n < SAID + 20; n++) {
    // The engine takes its turn between two of them.
    await scheduler.wait(1);
    if (n === SAID + 5) gate.open();
    const sessionId = switched ? (await agent.newestSession({ sessionId: PARENT })).id : PARENT;
    const refusal = await refusalOf(() => agent.append({ sessionId, message: say(n) }));
    if (refusal === "") taken.push(sessionId);
    else {
      expect(refusal).toContain("[session_ended]");
      [switched, n] = [true, n - 1];
    }
  }
  const { childId } = splitOf(await agent.waitForRun({ runId: run.id }));
  expect(new Set(taken)).toEqual(new Set([PARENT, childId]));
  const inParent = taken.filter((sessionId) => sessionId === PARENT).length;
  expect(await agent.getPathLength({ sessionId: PARENT })).toBe(SAID + inParent);
  const tail = (await idsOf(agent, childId)).slice(-taken.length);
  expect(tail).toEqual(taken.map((_, index) => `m${SAID + index}`));
});

// --- what fails, and when -------------------------------------------------------------------------------------------------

/** The durable ones of a split, in their order. */
const EFFECTS = [
  "outline",
  "recordPlan",
  "read",
  "saveDraft",
  "read",
  "commit",
] as const satisfies readonly PortMethod[];

/** Exactly one of the two takes messages, and a child is there only when its parent has ended. */
function look({ palimpsest: { memory } }: PalimpsestAgent): void {
  const parent = memory.sessions.get(PARENT);
  const children = memory.sessions.list({ limit: 100 }).filter(({ parentSessionId }) => parentSessionId === PARENT);
  expect(children.map(({ id }) => id)).toEqual(parent?.endedAt === null ? [] : [parent?.continuedBy]);
}

/** Asks again with a new stub, as a client does whose call was cut off. */
async function insist<T>(name: string, call: (agent: PalimpsestAgent) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call(stubOf(name));
    } catch {
      await scheduler.wait(1);
    }
  }
}

/** Until the engine has given the run's instance up. */
async function untilErrored(run: RunRecord): Promise<void> {
  const status = async () => (await (await env.COMPACTION_WORKFLOW.get(run.id)).status()).status;
  while ((await status().catch(() => "missing")) !== "errored") await scheduler.wait(1);
}

/** Appends repeatedly and checks until the run has ended. Returns the appended ids in order. */
async function talkUntilEnded(name: string, runId: string): Promise<string[]> {
  const said: string[] = [];
  for (let sessionId = PARENT, ended = false; !ended || said.length === 0;) {
    ended = (await insist(name, (agent) => agent.getRun({ runId }))).outcome !== null;
    await insist(name, (agent) => runInDurableObject(agent as unknown as Stub, look));
    const message: UIMessage = {
      id: `said ${said.length}`,
      role: "user",
      parts: [{ type: "text", text: "And then?" }],
    };
    const taken = await insist(name, async (agent) => {
      const refusal = await refusalOf(() => agent.append({ sessionId, message }));
      if (refusal !== "" && !refusal.startsWith("[session_ended]")) throw new Error(refusal);
      return refusal === "";
    });
    if (taken) said.push(message.id);
    else sessionId = (await insist(name, (agent) => agent.newestSession({ sessionId: PARENT }))).id;
    // The engine takes its turn.
    await scheduler.wait(1);
  }
  return said;
}

const FAULTS = ["throws before", "throws after", "reset before", "reset after"] as const;

for (const [index, effect] of EFFECTS.entries()) {
  test.each(FAULTS)(
    `R1, C1, M1: ${effect} %s: one outcome, one child, one open session at every look, no message lost`,
    async (fault) => {
      const { name } = await withParent();
      const plan = planFault(name, { fault, at: index + 1 });
      const { run } = await insist(name, (agent) => agent.compactAndSplit({ sessionId: PARENT }));
      const said = await talkUntilEnded(name, run.id);
      expect([plan.fired, plan.calls[index]]).toEqual([true, effect]);
      const agent = stubOf(name);
      const [ended, ...others] = await agent.runs({ sessionId: PARENT });
      if (ended === undefined) throw new Error("The ledger lost its run.");
      const { childId, overlayId } = splitOf(ended);
      expect(others).toEqual([]);
      // Both are as new as their last message, which the child has from its parent.
      expect((await sessionIds(agent)).toSorted()).toEqual([childId, PARENT].toSorted());
      expect((await agent.getCompactions({ sessionId: PARENT })).map(({ id }) => id)).toEqual([overlayId]);
      const tail = await idsOf(agent, childId);
      expect(tail.slice(-said.length)).toEqual(said);
    },
  );
}

test("an eviction before the switch, and one right after it, change nothing (R1)", async () => {
  const { name, stub, run, gate } = await splitAtGate();
  await evictDurableObject(stub);
  gate.open();
  const { childId } = splitOf(await stubOf(name).waitForRun({ runId: run.id }));
  await evictDurableObject(stubOf(name) as unknown as typeof stub);
  const again = stubOf(name);
  expect(await refusalOf(() => again.append({ sessionId: PARENT, message: say(99) }))).toContain(childId);
  expect(await again.append({ sessionId: childId, message: say(99) })).toMatchObject({ inserted: true });
});

test("a switch that is asked for again, late or twice, answers the same child and writes nothing (C1)", async () => {
  const { agent, stub } = await withParent();
  const { run } = await agent.compactAndSplit({ sessionId: PARENT });
  const ended = await agent.waitForRun({ runId: run.id });
  await agent.append({ sessionId: splitOf(ended).childId, message: say(99) });
  const late = await runInDurableObject(stub, (instance: PalimpsestAgent) =>
    instance.compactionStep(run.id, "commit", [
      { step: "add compaction", attempt: 7 },
      { key: "any", leaves: [] },
    ]),
  );
  expect(late).toEqual({ kind: "ended", outcome: ended.outcome });
  expect(await sessionIds(agent)).toHaveLength(2);
});

test("a run whose instance failed at the switch goes on in a restarted one, and pays and summarises nothing again (R1, R3)", async () => {
  const { agent, stub, calls } = await withParent();
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    replaceStep(instance, storeOnly(instance));
  });
  const { run } = await agent.compactAndSplit({ sessionId: PARENT });
  await untilErrored(run);
  const paid = calls.length;
  await agent.appendAll({ sessionId: PARENT, messages: talk(SAID, SAID + 10) });
  await runInDurableObject(stub, (instance: PalimpsestAgent) => replaceStep(instance, null));
  vi.setSystemTime(Date.now() + 60_000);
  await agent.watchCompactions();
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended).toMatchObject({ restarts: 1, tokensBefore: run.tokensBefore });
  expect((await agent.getView({ sessionId: splitOf(ended).childId })).messages.slice(-10)).toEqual(
    talk(SAID, SAID + 10),
  );
  expect(calls).toHaveLength(paid);
});

test("a split that fails for good leaves the parent open and no child; its draft is not paid for again (R1, R3)", async () => {
  const { agent, stub, calls } = await withParent();
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    replaceStep(instance, storeOnly(instance));
  });
  const { run } = await agent.compactAndSplit({ sessionId: PARENT, name: "Second half" });
  for (let restart = 0; restart <= MAX_INSTANCE_RESTARTS; restart++) {
    await untilErrored(run);
    vi.setSystemTime(Date.now() + 60_000);
    await agent.watchCompactions();
  }
  expect((await agent.getRun({ runId: run.id })).outcome).toMatchObject({ kind: "failed" });
  expect(await sessionIds(agent)).toEqual([PARENT]);
  expect(await agent.getCompactions({ sessionId: PARENT })).toEqual([]);
  expect(calls).toHaveLength(1);
  await agent.append({ sessionId: PARENT, message: say(99) });
  // Asked for again, it takes up where that one ended.
  await runInDurableObject(stub, (instance: PalimpsestAgent) => replaceStep(instance, null));
  const again = await agent.retryRun({ runId: run.id });
  const { childId } = splitOf(await agent.waitForRun({ runId: again.run.id }));
  expect(await agent.getSessionInfo({ sessionId: childId })).toMatchObject({ name: "Second half" });
  expect(calls).toHaveLength(1);
});

test.each([
  ["cleared", { kind: "stale", reason: "gone" }],
  ["deleted", null],
  ["edited", { kind: "stale", reason: "changed" }],
  ["cancelled", { kind: "cancelled" }],
] as const)(
  "a parent that is %s under the run ends it in one outcome, with nothing of a child (S2)",
  async (what, outcome) => {
    const { agent, run, gate } = await splitAtGate();
    if (what === "cleared") await agent.clearMessages({ sessionId: PARENT });
    if (what === "deleted") await agent.deleteSession({ sessionId: PARENT });
    if (what === "edited") await agent.update({ sessionId: PARENT, message: say(4, "changed ") });
    if (what === "cancelled") await agent.cancelRun({ runId: run.id });
    gate.open();
    if (outcome === null) expect(await refusalOf(() => agent.getRun({ runId: run.id }))).toContain("[unknown_run]");
    else expect((await agent.waitForRun({ runId: run.id })).outcome).toEqual(outcome);
    expect(await sessionIds(agent)).toEqual(what === "deleted" ? [] : [PARENT]);
    expect(await agent.append({ sessionId: PARENT, message: say(99) })).toMatchObject({ inserted: true });
  },
);

test("with nothing to compact, a short session is split as it is, and no model is asked", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ sessionId: PARENT, messages: talk(0, 2) });
  const { run } = await agent.compactAndSplit({ sessionId: PARENT });
  const split = splitOf(await agent.waitForRun({ runId: run.id }));
  expect(split).toMatchObject({ overlayId: null, tokensAfter: split.tokensBefore });
  expect((await agent.getView({ sessionId: split.childId })).messages).toEqual(talk(0, 2));
  expect(calls).toEqual([]);
});

/** A compaction whose model is asked for the merge of its drafts. */
async function compactionAtMerge() {
  const gate = makeGate();
  const { agent, calls } = newAgent(async (prompt) => {
    if (prompt.kind === "merge") await gate.pass();
    return summaryOf(prompt, prompt.kind);
  });
  const compaction = await startRun(agent, "long!6000", 49);
  await gate.reached();
  return { agent, calls, gate, compaction, sessionId: "long!6000" };
}

test("a compaction that is at work becomes the split, so nothing is asked for twice (R2, R3)", async () => {
  const { agent, calls, gate, compaction, sessionId } = await compactionAtMerge();
  const paid = calls.length;
  await agent.append({ sessionId, message: say(90, "Said meanwhile. ") });
  const { run, joined } = await agent.compactAndSplit({ sessionId, name: "The next one" });
  expect({ id: run.id, kind: run.kind, joined }).toEqual({ id: compaction.id, kind: "split", joined: true });
  expect((await agent.compactAndSplit({ sessionId })).run.id).toBe(run.id);
  expect((await agent.compact({ sessionId })).run.id).toBe(run.id);
  gate.open();
  const { childId, overlayId } = splitOf(await agent.waitForRun({ runId: run.id }));
  expect(overlayId).not.toBeNull();
  expect(calls).toHaveLength(paid);
  expect(await agent.getSessionInfo({ sessionId: childId })).toMatchObject({ name: "The next one" });
  expect((await agent.getView({ sessionId: childId, apart: true })).messages.at(-1)?.id).toBe("m90");
  expect(await agent.runs({ sessionId })).toHaveLength(1);
});

test("a compaction that is at work gives way to a split with a focus, for which the model is asked anew (R2)", async () => {
  const { agent, gate, compaction, sessionId } = await compactionAtMerge();
  const { run, joined } = await agent.compactAndSplit({ sessionId, focus: "the parser" });
  expect(joined).toBe(false);
  expect((await agent.getRun({ runId: compaction.id })).outcome).toEqual({ kind: "cancelled" });
  gate.open();
  splitOf(await agent.waitForRun({ runId: run.id }));
  expect(overlayOf(await agent.getRun({ runId: compaction.id }))).toBe("");
});

test("a compaction of another branch gives way to a split, whose child has none of that branch", async () => {
  const { agent, gate, compaction, sessionId } = await compactionAtMerge();
  await agent.append({ sessionId, message: say(91, "Another way. "), parentId: "m2" });
  const { run, joined } = await agent.compactAndSplit({ sessionId });
  expect(joined).toBe(false);
  expect((await agent.getRun({ runId: compaction.id })).outcome).toEqual({ kind: "cancelled" });
  gate.open();
  const { childId } = splitOf(await agent.waitForRun({ runId: run.id }));
  expect((await agent.getView({ sessionId: childId, apart: true })).messages.map(({ id }) => id)).toEqual([
    "m0",
    "m1",
    "m2",
    "m91",
  ]);
});
