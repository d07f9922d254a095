/** Hindsight: each compaction's misses, counted from what was said later, without a model and without a row more. */
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { HINDSIGHT_BYTES } from "../../src/agent/reports/hindsight.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import { everyTable } from "../rows.ts";
import { inside } from "../agent/inside.ts";

skipRetryDelays();

/** A summary that keeps one name of those that it hides. */
const KEPT = "src/ledger-2.ts";
const sparse = () => newAgent((prompt) => summaryOf(prompt, `We changed ${KEPT}.`));

async function compacted(sessionId = "") {
  const made = sparse();
  const run = await startRun(made.agent, sessionId);
  await made.agent.waitForRun({ runId: run.id });
  return made;
}

const asks = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

/** A name that no view shows: said again and again in hidden messages, and crowded out of the names' room. */
async function hiddenName(agent: Awaited<ReturnType<typeof compacted>>["agent"], sessionId = ""): Promise<string> {
  const shown = JSON.stringify((await agent.getView({ sessionId })).messages);
  for (let n = 3; n < 12; n++) {
    const [name = ""] = /src\/[\w.-]+/.exec(JSON.stringify(say(n))) ?? [];
    if (!shown.includes(name)) return name;
  }
  throw new Error("The view shows every name.");
}

test("not known before the first compaction, and while nothing was said since", async () => {
  const made = sparse();
  expect(await made.agent.hindsight({})).toEqual({ now: null, overlays: [] });
  const run = await startRun(made.agent);
  await made.agent.waitForRun({ runId: run.id });
  const { now, overlays } = await made.agent.hindsight({});
  expect(now).toBeNull();
  expect(overlays).toMatchObject([{ n: 1, hindsight: null }]);
});

test("the example of docs/hindsight.md does what it says", async () => {
  const { stub, agent } = await compacted();
  await agent.append({ message: asks("again", `Look at ${KEPT} once more.`) });
  await runInDurableObject(stub, async (instance) => {
    const session = Session.create(instance);
    // example
    const { now, overlays } = await session.hindsight();
    // now: { overlayId, messages, unread, names, inView, recalled, missed }, or null
    const words = now === null ? "not known yet" : `${now.names - now.missed} of ${now.names} were there`;
    const [last] = overlays; // { overlayId, n, createdAt, hindsight }, the newest first
    // end
    expect(words).toBe("1 of 1 were there");
    expect(last).toEqual({
      overlayId: now?.overlayId,
      n: 1,
      createdAt: expect.any(Number) as unknown,
      hindsight: null,
    });
    await expect(session.hindsight({ limit: 0 })).rejects.toThrow("[invalid_input]");
  });
});

test("counts names in view, recalled and missed, without a call of a model and without a word of the conversation", async () => {
  const made = await compacted();
  const { agent, calls } = made;
  const asked = calls.length;
  await agent.append({ message: asks("again", `Look at ${KEPT} once more.`) });
  const { now } = await agent.hindsight({});
  expect(now).toMatchObject({ messages: 1, unread: 0, names: 1, inView: 1, recalled: 0, missed: 0 });
  expect(calls).toHaveLength(asked);
  expect(JSON.stringify(await agent.hindsight({}))).not.toContain("ledger");
});

test("an append writes one row, as without an overlay, and the count costs no row at all", async () => {
  const made = await compacted();
  const meter = () => inside(made, (_, agent) => ({ ...agent.palimpsest.db.meter }));
  const start = await meter();
  await made.agent.append({ message: asks("one", "Go on.") });
  const appended = await meter();
  expect(appended.rowsWritten - start.rowsWritten).toBe(1);
  await made.agent.hindsight({});
  expect((await meter()).rowsWritten).toBe(appended.rowsWritten);
});

test("the next plan keeps the counts with the overlay, in its record, its run's health and the list", async () => {
  const { agent } = await compacted();
  await agent.appendAll({ messages: [asks("again", `Look at ${KEPT} once more.`), ...talk(20, 36)] });
  for (const { id } of await agent.runs({})) await agent.waitForRun({ runId: id });
  const [first, second] = await agent.getCompactions({});
  expect(second).toBeDefined();
  expect(first?.details.hindsight).toMatchObject({ names: expect.any(Number), unread: 0 });
  expect(first?.details.hindsight?.inView).toBeGreaterThan(0);
  expect(second?.details.hindsight).toBeNull();
  const { overlays } = await agent.hindsight({});
  expect(overlays.map(({ n }) => n)).toEqual([2, 1]);
  expect(overlays[1]?.hindsight).toEqual(first?.details.hindsight);
  const { runs } = await agent.health({});
  expect(runs.map(({ hindsight }) => hindsight)).toEqual([null, first?.details.hindsight]);
});

test("a run counts on its own branch, whichever is the active one by then", async () => {
  const made = await compacted();
  await inside(made, async (manager) => {
    const session = manager.getSession("");
    await session.appendAll([asks("again", `Look at ${KEPT} once more.`), ...talk(20, 36)]);
    await session.appendMessage(asks("elsewhere", "Begin anew."), "m1");
  });
  for (const { id } of await made.agent.runs({})) await made.agent.waitForRun({ runId: id });
  const [first] = await made.agent.getCompactions({});
  expect(first?.details.hindsight?.names).toBeGreaterThan(0);
});

test("messages beyond what one count reads are told as unread", async () => {
  const made = newAgent();
  const sessionId = "wide!400000";
  const { now } = await inside(made, async (manager) => {
    const session = manager.getSession(sessionId);
    await session.appendAll(talk(0, 12));
    await session.addCompaction(`We changed ${KEPT}.`, "m2", "m9");
    await session.appendMessage(asks("again", `Look at ${KEPT} once more.`));
    await session.appendMessage(asks("long", "Go on. ".repeat(HINDSIGHT_BYTES / 7)));
    return session.hindsight();
  });
  expect(now).toMatchObject({ messages: 1, unread: 1 });
});

test("what hindsight keeps is six numbers: no word of an edited or deleted message is in them (S2)", async () => {
  const made = await compacted();
  await made.agent.appendAll({ messages: [asks("again", `Look at ${KEPT} once more.`), ...talk(20, 36)] });
  for (const { id } of await made.agent.runs({})) await made.agent.waitForRun({ runId: id });
  const [first] = await made.agent.getCompactions({});
  expect(Object.values(first?.details.hindsight ?? { none: "" }).every((each) => typeof each === "number")).toBe(true);
  await made.agent.clearMessages({});
  expect(await made.agent.hindsight({})).toEqual({ now: null, overlays: [] });
  const left = await inside(made, (_, __, storage) => [...everyTable(storage).values()].join("\n"));
  expect(left).not.toContain(KEPT);
  expect(left).not.toContain("inView");
});

test("after an edit under the overlay the view hides nothing, and there is nothing to count", async () => {
  const { agent } = await compacted();
  await agent.append({ message: asks("again", `Look at ${KEPT} once more.`) });
  expect((await agent.hindsight({})).now?.names).toBe(1);
  const [overlay] = await agent.getCompactions({});
  await agent.upsert({ message: say(Number(overlay?.span.fromId.slice(1)), "Edited. ") });
  const { now } = await agent.hindsight({});
  expect(now?.overlayId).not.toBe(overlay?.id);
});

const step = (text: string) => [{ type: "step-start" as const }, { type: "text" as const, text }];
const growing = (...texts: string[]): UIMessage => ({ id: "g", role: "assistant", parts: texts.flatMap(step) });

test("a message that grew after the overlay counts from its new steps on", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, `We changed ${KEPT}.`));
  await agent.appendAll({ messages: [...talk(0, 16), growing("I begin.")] });
  for (const { id } of await agent.runs({})) await agent.waitForRun({ runId: id });
  const name = await hiddenName(agent).catch(() => KEPT);
  expect((await agent.hindsight({})).now).toBeNull();
  await agent.upsert({ message: growing("I begin.", `I read ${name}.`) });
  expect((await agent.hindsight({})).now).toMatchObject({ messages: 1, names: 1 });
});
