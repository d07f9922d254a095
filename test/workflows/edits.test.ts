/** Edits under an overlay. The old text is gone at once, summaries that still hold stay, and only the changed part is paid for again. */
import { expect, test } from "vitest";
import type { UIMessage } from "ai";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { makeGate, summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const sessionId = "long!6000";

/** The numbers of the messages in a text. */
function messagesIn(text: string): number[] {
  return [...new Set([...text.matchAll(/Message (\d+):/g)].map(([, n]) => Number(n)))];
}

/** Says which messages a draft is about, so that a view tells where each part of it came from. */
function about(prompt: ParsedPrompt): string {
  const source = [prompt.transcript ?? "", prompt.previous ?? "", ...prompt.drafts].join("\n");
  const numbers = [
    ...messagesIn(source),
    ...[...source.matchAll(/told (\d+)-(\d+)/g)].flatMap(([, a, b]) => [+a!, +b!]),
  ];
  return `told ${Math.min(...numbers)}-${Math.max(...numbers)}`;
}

/** Three chunks under one overlay. `more` makes the summaries longer. */
async function compacted(more = "") {
  const made = newAgent((prompt) => summaryOf(prompt, about(prompt) + more));
  const run = await made.agent.waitForRun({ runId: (await startRun(made.agent, sessionId, 49)).id });
  const [overlay] = await made.agent.getCompactions({ sessionId });
  if (overlay === undefined) throw new Error("The run added no overlay.");
  expect(overlay.details.madeOf).toHaveLength(3);
  return { ...made, run, overlay };
}

async function viewOf(agent: PalimpsestAgent): Promise<{ messages: readonly UIMessage[]; text: string }> {
  const { messages } = await agent.getView({ sessionId });
  return { messages, text: textOf(messages) };
}

async function latest(agent: PalimpsestAgent): Promise<RunRecord> {
  const [run] = await agent.runs({ sessionId });
  return agent.waitForRun({ runId: run?.id ?? "" });
}

test("an edited message takes its chunk's summary out of the view in the same call, and leaves the other chunks' in it (C3)", async () => {
  const gate = makeGate();
  let edited = false;
  const { agent } = newAgent(async (prompt) => {
    if (edited) await gate.pass();
    return summaryOf(prompt, about(prompt));
  });
  await agent.waitForRun({ runId: (await startRun(agent, sessionId, 49)).id });
  const [overlay] = await agent.getCompactions({ sessionId });
  const [first, middle, last] = overlay?.details.madeOf ?? [];
  if (first?.kind !== "leaf" || middle?.kind !== "leaf" || last?.kind !== "leaf") throw new Error("No three chunks.");
  const n = Number(middle.fromId.slice(1)) + 1;
  edited = true;
  await agent.update({ sessionId, message: say(n, "NEW WORDS. ") });
  const { text } = await viewOf(agent);
  expect(text).toContain("NEW WORDS");
  expect(text).toContain(`told ${first.fromId.slice(1)}-${first.toId.slice(1)}`);
  expect(text).toContain(`told ${last.fromId.slice(1)}-${last.toId.slice(1)}`);
  expect(messagesIn(text)).toContain(n);
  const [mending] = await agent.runs({ sessionId });
  expect(mending).toMatchObject({ trigger: "edit", only: "mend", outcome: null });
  gate.open();
  expect((await agent.waitForRun({ runId: mending?.id ?? "" })).outcome).toMatchObject({ kind: "applied" });
});

test("the run that mends pays for the chunk that changed, and for nothing else (R3)", async () => {
  const { agent, calls, overlay } = await compacted();
  const middle = overlay.details.madeOf[1];
  if (middle?.kind !== "leaf") throw new Error("The overlay is made of chunks.");
  const n = Number(middle.fromId.slice(1)) + 1;
  const paid = calls.length;
  await agent.update({ sessionId, message: say(n, "NEW WORDS. ") });
  const mended = await latest(agent);
  expect(mended).toMatchObject({ trigger: "edit", outcome: { kind: "applied" }, modelCalls: 1 });
  expect(calls).toHaveLength(paid + 1);
  expect(calls.at(-1)).toMatchObject({ kind: "chunk", transcript: expect.stringContaining("NEW WORDS") });
  const { text } = await viewOf(agent);
  expect(messagesIn(text)).not.toContain(n);
  expect(text).toContain(`told ${middle.fromId.slice(1)}-${middle.toId.slice(1)}`);
});

test("a deleted end of an overlay takes its own chunk along, and the others stay", async () => {
  const { agent, overlay } = await compacted();
  const [first, middle, last] = overlay.details.madeOf;
  if (first?.kind !== "leaf" || middle?.kind !== "leaf" || last?.kind !== "leaf") throw new Error("No three chunks.");
  await agent.deleteMessages({ sessionId, ids: [overlay.span.toId] });
  const { text } = await viewOf(agent);
  expect(text).toContain(`told ${first.fromId.slice(1)}-${first.toId.slice(1)}`);
  expect(text).toContain(`told ${middle.fromId.slice(1)}-${middle.toId.slice(1)}`);
  expect(text).not.toContain(`told ${last.fromId.slice(1)}-${last.toId.slice(1)}`);
  expect(messagesIn(text)).not.toContain(Number(overlay.span.toId.slice(1)));
});

test("an edit while a run is at work is mended when that run has ended", async () => {
  const gate = makeGate();
  let rebuilding = false;
  const { agent, calls } = newAgent(async (prompt) => {
    if (rebuilding) await gate.pass();
    return summaryOf(prompt, about(prompt));
  });
  await agent.waitForRun({ runId: (await startRun(agent, sessionId, 49)).id });
  const [overlay] = await agent.getCompactions({ sessionId });
  const middle = overlay?.details.madeOf[1];
  if (middle?.kind !== "leaf") throw new Error("The overlay is made of chunks.");
  rebuilding = true;
  const { run } = await agent.compact({ sessionId, rebuild: true, fresh: true });
  await gate.reached();
  await agent.update({ sessionId, message: say(Number(middle.fromId.slice(1)) + 1, "NEW WORDS. ") });
  expect((await agent.runs({ sessionId }))[0]?.id).toBe(run.id);
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "stale", reason: "changed" });
  expect(await latest(agent)).toMatchObject({ only: "mend", outcome: { kind: "applied" } });
  expect(calls.at(-1)?.transcript).toContain("NEW WORDS");
});

test("a rebuild reads the messages again, not the summaries, and pays for what has no draft of its own and for the fold (R3)", async () => {
  const { agent, calls, overlay } = await compacted();
  // The earlier summary is carried on. So the draft of the later chunk tells of more than that chunk, and no rebuild uses it.
  await agent.appendAll({ sessionId, messages: talk(49, 55) });
  const { run: carrying } = await agent.compact({ sessionId });
  const { plan } = await agent.waitForRun({ runId: carrying.id });
  expect(plan).toMatchObject({ overlayIds: [overlay.id], rebuild: false, chunks: { length: 1 } });
  expect(calls.at(-1)).toMatchObject({ kind: "chunk", previous: expect.stringContaining("told") as unknown });
  const paid = calls.length;
  const { run } = await agent.compact({ sessionId, rebuild: true });
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended).toMatchObject({ only: "rebuild", outcome: { kind: "applied" }, modelCalls: 2 });
  const [again, fold] = calls.slice(paid);
  expect(again).toMatchObject({ kind: "chunk", previous: null });
  expect(fold).toMatchObject({ kind: "merge", previous: null, drafts: { length: overlay.details.madeOf.length + 1 } });
});

/** A summary of three chunks that the next run carried on over one chunk more. */
async function carriedOn() {
  const made = await compacted();
  await made.agent.appendAll({ sessionId, messages: talk(49, 55) });
  const { run } = await made.agent.compact({ sessionId });
  await made.agent.waitForRun({ runId: run.id });
  const later = (await made.agent.getCompactions({ sessionId })).at(-1);
  const [folded, leaf, ...more] = later?.details.madeOf ?? [];
  if (later === undefined || folded?.kind !== "overlay" || leaf?.kind !== "leaf" || more.length > 0)
    throw new Error("The second run carried nothing on.");
  expect([folded.id, leaf.draftKey]).toEqual([made.overlay.id, null]);
  return { ...made, later, leaf, from: Number(leaf.fromId.slice(1)), to: Number(leaf.toId.slice(1)) };
}

test("a draft that carries on a summary is never shown over its chunk alone: an edit under the summary shows the chunk's messages (C3)", async () => {
  const { agent, calls, overlay, later, from, to } = await carriedOn();
  const [first, middle, last] = overlay.details.madeOf;
  if (first?.kind !== "leaf" || middle?.kind !== "leaf" || last?.kind !== "leaf") throw new Error("No three chunks.");
  const told = `told ${first.fromId.slice(1)}-${to}`;
  expect((await viewOf(agent)).text).toContain(told);
  const paid = calls.length;
  await agent.update({ sessionId, message: say(Number(first.fromId.slice(1)) + 1, "NEW WORDS. ") });
  const { text } = await viewOf(agent);
  expect(text).not.toContain(told);
  expect(text).not.toContain(later.summary.split("\n")[1]);
  for (let n = from; n <= to; n++) expect(messagesIn(text)).toContain(n);
  for (const { fromId, toId } of [middle, last]) expect(text).toContain(`told ${fromId.slice(1)}-${toId.slice(1)}`);
  await latest(agent);
  // What was told of the old words reaches no prompt.
  expect(calls.slice(paid).map(({ previous, drafts }) => [previous, ...drafts].join())).not.toContain(told);
});

test("an edit in the chunk that carried a summary on shows the summary before, and the chunk's messages (C3, S3)", async () => {
  const { agent, overlay, later, from, to } = await carriedOn();
  await agent.update({ sessionId, message: say(from, "NEW WORDS. ") });
  const { messages, text } = await viewOf(agent);
  expect(messages.map(({ id }) => id)).toContain(`palimpsest:overlay:${overlay.id}`);
  expect(text).not.toContain(later.summary.split("\n")[1]);
  for (let n = from; n <= to; n++) expect(messagesIn(text)).toContain(n);
  expect(text).toContain("NEW WORDS");
});

test("a fork finds the draft that carried a summary on, and pays nothing (R3)", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, about(prompt)));
  await agent.waitForRun({ runId: (await startRun(agent)).id });
  await agent.appendAll({ messages: talk(17, 27) });
  const [second] = await agent.runs({});
  await agent.waitForRun({ runId: second?.id ?? "" });
  expect(calls.map(({ previous }) => previous === null)).toEqual([true, false]);
  const { id } = await agent.forkSession({ atMessageId: "m26" });
  const carrying = (await agent.getCompactions({ sessionId: id })).at(-1);
  await agent.rollback({ sessionId: id, overlayId: carrying?.id ?? "" });
  const { run } = await agent.compact({ sessionId: id });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied" }, modelCalls: 0 });
  expect(calls).toHaveLength(2);
});

test("a rebuild of what was folded from the very drafts that it reads pays for nothing (R3)", async () => {
  // A shorter one would have to become shorter still, and what is asked for is then another size.
  const { agent, calls, overlay } = await compacted(". All of it was looked at twice by two who know it.".repeat(4));
  const paid = calls.length;
  const { run } = await agent.compact({ sessionId, rebuild: true });
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended).toMatchObject({ only: "rebuild", outcome: { kind: "applied" }, modelCalls: 0 });
  expect(calls).toHaveLength(paid);
  const rebuilt = (await agent.getCompactions({ sessionId })).at(-1);
  expect(rebuilt?.span).toEqual(overlay.span);
  expect(rebuilt?.summary).toBe(overlay.summary);
});
