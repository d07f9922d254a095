/**
 * Defects of earlier session memories, each guarded by a test. The list names the test and its file in test/. The tests below guard the
 * defects that no other file guards.
 *
 * Found when the first sketch was reviewed:
 * - search rows left behind by delete, clear, update: "S2: after update, delete and clear nothing of the old …" (recall/search)
 * - upsert dropped updates: "an upsert updates where the message stands, …" (memory/messages)
 * - queries without the session's id: "S1: sessions share nothing, not even ids; …" (memory/messages); "S1: a session reads as if it were alone: …" (memory/isolation)
 * - addCompaction before its table was made: "whatever is asked first of a new object finds its tables" (here)
 * - delete did nothing to a session not yet loaded: "every method works on a session that was not touched …" (agent/sessions/session-manager)
 * - one session's summary given to another: "a summariser that serves several sessions …" (agent/known-defects); "a function that serves several sessions …" (agent/known-defects)
 * - search crashed before the first write: "is never malformed, …, before the first write and after" (recall/search)
 * - context blocks shared by sessions: "share no block, entry, prompt or loaded skill, …" (context/workerd/isolation)
 * - a summary posing as the system or the assistant: "a summary is a user message framed as a record, …" (steps/message/message)
 *
 * Of the tree and its rows:
 * - a provider object shared by two sessions: "may not share a writable provider object by accident; …" (context/workerd/isolation); "one writable provider object for every session is refused" (agent/sessions/session-manager)
 * - appendAll on a non-empty session began anew: "appending several to a session that is not empty …" (agent/sessions/session-manager)
 * - delete rewrote the session's prompt: "leaves no row, keeps no prompt, …" (context/workerd/isolation); "S2: after a delete … no table holds anything of the session, …" (agent/sessions/delete-session)
 * - one id in two sessions was an error: "S1: sessions share nothing, not even ids; …" (memory/messages)
 * - a delete in mid-chain lost what came before: "a delete in the middle keeps both sides, …" (memory/messages)
 * - a path ended at 10,000 messages: "a path of 12,000 messages is read whole, …" (memory/messages); "a path far over 10,000 messages is compacted, …" (here)
 * - a message over a row's limit was refused: "a message of any size up to the limit comes back …" (memory/messages)
 * - … or not found by search: "is exact for messages split over rows, …" (recall/search)
 * - search took several words for one phrase: "means all of its words, …" (recall/search)
 * - search found no part of a Japanese text: "finds any part of a text in scripts without spaces, …" (recall/search)
 * - estimates of CJK were a quarter of the truth: "Japanese reads at about one token per character, …" (steps/tokens/tokens); "a stored CJK message weighs what a model will count, …" (here)
 *
 * Of overlays:
 * - the deleted end of an overlay ended compaction: "compaction goes on after the end of an overlay …" (memory/overlays); "compaction goes on after both ends of its summary …" (agent/known-defects)
 * - of several summaries only the first was carried on: "no earlier summary and no message between two of them falls into a gap: …" (agent/known-defects)
 * - what lay between overlays was in no summary: the same; "V1: what lies before an overlay is seen, …" (memory/overlays)
 * - a later, narrower overlay uncovered a wider one: "the wider overlay wins whether it came first or last; …" (memory/overlays); "a narrower overlay laid after a wider one changes no view" (here)
 * - an overlay was seen from, or blocked, a sibling: "an overlay is not seen from a sibling branch; …" (memory/overlays); "two branches of one session may each have a run (R2)" (workflows/faults/races)
 * - a summary that a client echoed was stored: "a summary that a client echoes back is not stored; …" (memory/overlays)
 * - a range was stored unchecked: "a range that is none is refused with both of its ends …" (memory/overlays)
 * - every overlay ever made was read for each view: "reads at most 2 rows per visible element and 4, …" (memory/cost)
 *
 * Of compaction at work:
 * - a clear during a run kept the old summary: "clear ends the run as stale at once, …" (workflows/faults/races)
 * - a delete during a run left dead anchors: "deleting the … message of the span makes the run stale" (workflows/faults/races)
 * - an edit during a run gave a stale summary: "an edit inside the span makes the run stale, …" (workflows/faults/races)
 * - a summary longer than its range was taken: "V3: a summary that is not smaller than what it replaces …" (memory/overlays); "an answer longer than its source … is never shown: …" (workflows/outcomes)
 * - a summariser's failure reached no handler: "a function that … is not called again by each append, …" (agent/known-defects)
 * - … and it was called again by each append: the same; "a summariser that is $what: an extractive summary stands in, …" (workflows/summarisers)
 * - each concurrent append called the summariser: "appends at the same time start one run and one call (R2)" (agent/known-defects)
 * - an append waited for the summariser: "appends resolve while the model thinks, …" (workflows/faults/races)
 * - compaction ran every ten messages or so: "a conversation of 300 messages is compacted a few times" (agent/known-defects)
 * - an eviction lost what was paid for: "a reset between the parts of a long run pays for no …" (workflows/faults/faults)
 * - texts were given to the summariser uncut: "a text of any length is given to the summariser in pieces" (agent/known-defects)
 * - a long summary was asked to shrink every time: "a summary within its budget may stay as long as it was …" (agent/known-defects)
 * - tools were "unknown", objects "[object Object]", errors lost: "names every tool, shows objects as JSON and …" (steps/draft/render)
 * - the system prompt and tools were not counted: "a count over the threshold starts a run, …" (agent/reports/usage)
 * - a tail could begin with an answer: "head by count, tail by budget, the tail from a user turn" (steps/plan/plan)
 * - a repair made parts that no provider takes: "V2: any list of messages converts with every call paired" (steps/view/repair)
 */
import { expect, test } from "vitest";
import { fill, say, shown, span, withProbe, type SearchedMemory } from "./probe.ts";
import { codeOf } from "../thrown.ts";

test("whatever is asked first of a new object finds its tables", async () => {
  const first: readonly (readonly [what: string, ask: (memory: SearchedMemory) => unknown, answer: unknown])[] = [
    [
      "a summary",
      (memory) => codeOf(() => memory.session("").overlays.add({ span: span("m1", "m2"), summary: "S" })),
      "unknown_message",
    ],
    ["summaries", (memory) => memory.session("").overlays.list(), []],
    ["the originals", (memory) => codeOf(() => memory.session("").overlays.expand("nothing")), "unknown_overlay"],
    ["a rollback", (memory) => codeOf(() => memory.session("").overlays.rollback("nothing")), "unknown_overlay"],
    ["a search", (memory) => memory.search.find("word"), []],
    ["a delete", (memory) => memory.session("").delete(["m1"]), 0],
    ["an update", (memory) => memory.session("").update(say("m1")), null],
    ["a clear", (memory) => memory.session("").clear(), undefined],
    ["the view", (memory) => memory.session("").view().messages, []],
    ["branches", (memory) => memory.session("").branches(null), []],
    ["an upsert", (memory) => memory.session("").upsert(say("m1")).inserted, true],
  ];
  for (const [what, ask, answer] of first) {
    await withProbe(({ memory, reopen }) => {
      expect(ask(memory), what).toEqual(answer);
      expect(reopen().session("").append(say("next")).inserted, what).toBe(true);
    });
  }
});

test("V1: a narrower overlay laid after a wider one changes no view, wherever in it", async () => {
  await withProbe(({ history }) => {
    fill(history, 1, 12);
    expect(history.overlays.add({ span: span("m2", "m10"), summary: "wide" }).kind).toBe("applied");
    for (const [from, to] of [
      ["m2", "m4"],
      ["m5", "m7"],
      ["m8", "m10"],
    ] as const) {
      history.overlays.add({ span: span(from, to), summary: `narrow ${from}` });
      expect(shown(history), `${from} to ${to}`).toEqual(["m1", "[wide]", "m11", "m12"]);
    }
  });
});

test("M1: a path far over 10,000 messages is compacted, branched and expanded like any other", async () => {
  await withProbe(({ memory, history }) => {
    memory.db.transaction(() => fill(history, 1, 12_000));
    const result = history.overlays.add({ span: span("m4", "m11990"), summary: "S" });
    if (result.kind !== "applied") throw new Error(result.kind);
    expect(shown(history)).toHaveLength(3 + 1 + 10);
    expect(history.overlays.expand(result.overlay.id)).toHaveLength(11_987);
    expect(history.append(say("b"), "m2").inserted).toBe(true);
    expect(shown(history)).toEqual(["m1", "m2", "b"]);
    expect(history.delete(["m1"])).toBe(1);
    expect(shown(history, "m12000")).toHaveLength(2 + 1 + 10);
    expect(history.pathLength("m12000")).toBe(11_999);
  });
});

test("a stored CJK message weighs what a model will count, in the view and for the trigger", async () => {
  await withProbe(({ history }) => {
    const text = "会議は来週の火曜日の午後三時から始まります。".repeat(60);
    history.append(say("ja", text));
    for (const tokens of [history.tokens(), history.view().tokens, history.outline()?.tokens ?? 0]) {
      expect(tokens / text.length).toBeGreaterThan(0.8);
      expect(tokens / text.length).toBeLessThan(1.3);
    }
  });
});
