/** The start of a split's child. It has its parent's view to the byte, in rows for the visible part, and nothing else of its parent. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { errorCode } from "../../src/errors.ts";
import type { History } from "../../src/memory/messages/history.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { tables } from "../rows.ts";
import { fill, measure, say, span, steps, withProbe } from "./probe.ts";
import { tries } from "../tries.ts";

const detailsOf = ({ details }: OverlayRecord) => ({ ...details, madeOf: [], draftKey: null });

/** Splits the default session, or another one, and returns the child. */
function split(memory: Memory, id = "child", from = ""): History {
  memory.sessions.split(from, { id, name: null, detailsOf });
  return memory.session(id);
}

/** Each overlay in force is over what it says it is over (C3). */
function expectSound(history: History): void {
  for (const overlay of history.overlays.list().filter(({ state }) => state === "active")) {
    expect(history.spans.sourceDigest(overlay.span), overlay.id).toBe(overlay.spanDigest);
  }
}

test("V1, M1: the child shows what the parent shows, whole messages, summaries and parts of messages alike", async () => {
  await withProbe(({ memory, history }) => {
    for (const n of [0, 1, 2]) history.append(say(`m${n}`));
    history.append(steps("long", "one", "two", "three", "four"));
    for (const n of [4, 5, 6]) history.append(say(`m${n}`));
    history.overlays.add({ span: span("m1", "long", [0, 1]), summary: "first half" });
    history.overlays.add({ span: span("long", "m4", [3, WHOLE_MESSAGE]), summary: "second half" });
    const child = split(memory);
    expect(child.view()).toMatchObject({ messages: history.view().messages, tokens: history.view().tokens });
    expect(child.get("long")).toEqual(history.get("long"));
    expect(child.get("m2")).toBeNull();
    expect([...child.originals()].map(({ id }) => id)).toEqual([
      "m0",
      `palimpsest:record:${child.overlays.list()[0]?.id}`,
      "long",
      `palimpsest:record:${child.overlays.list()[1]?.id}`,
      "m5",
      "m6",
    ]);
    expectSound(child);
  });
});

test("V1, M1, C2, C3: so it is for any messages and overlays, once more for the child's own child, and after a wake-up", async () => {
  const size = fc.integer({ min: 1, max: 4 });
  const cut = fc.record({
    from: fc.nat(11),
    to: fc.nat(11),
    fromStep: fc.nat(2),
    toStep: fc.constantFrom(0, 1, 2, WHOLE_MESSAGE),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(size, { minLength: 1, maxLength: 12 }),
      fc.array(cut, { maxLength: 6 }),
      fc.nat(11),
      (sizes, cuts, edited) =>
        withProbe(({ memory, history, reopen }) => {
          for (const [n, size] of sizes.entries())
            history.append(steps(`m${n}`, ...Array.from({ length: size }, (_, step) => `text ${n} ${step}`)));
          for (const { from, to, fromStep, toStep } of cuts) {
            try {
              history.overlays.add({
                span: { fromId: `m${from}`, fromStep, toId: `m${to}`, toStep },
                summary: `s ${from} ${to}`,
              });
            } catch (error) {
              expect(["unknown_message", "invalid_range"]).toContain(errorCode(error));
            }
          }
          const shown = history.view();
          const child = split(memory);
          const grandchild = split(memory, "grandchild", "child");
          for (const each of [child, grandchild, reopen().session("grandchild")]) {
            expect(each.view()).toMatchObject({ messages: shown.messages, tokens: shown.tokens });
            expectSound(each);
          }
          // An edit takes an overlay out of force where it covers the message, and shows no old text.
          grandchild.append(say("next"));
          const target = grandchild.view().elements[edited % shown.elements.length];
          if (target?.kind === "message") grandchild.update(say(target.id, "edited"));
          expectSound(grandchild);
          expect(history.view()).toEqual(shown);
        }),
    ),
    { numRuns: tries(40) },
  );
});

test("what was said since a summary is as much in the child, so that its accounts go on where they were", async () => {
  await withProbe(({ memory, history }) => {
    for (const n of [0, 1, 2, 3, 4]) history.append(say(`m${n}`));
    history.overlays.add({ span: span("m1", "m2"), summary: "a caller's own" });
    for (const n of [5, 6]) history.append(steps(`m${n}`, "one", "two"));
    const before = history.active.rented();
    expect(before?.sinceSummary).toBe(4);
    const child = split(memory);
    expect(child.active.rented()).toMatchObject({ sinceSummary: 4 });
    expect(split(memory, "grandchild", "child").active.rented()).toMatchObject({ sinceSummary: 4 });
  });
});

test("the newest summary is the newest in the child, also where it stands before another", async () => {
  await withProbe(({ memory, history }) => {
    for (const n of [0, 1, 2, 3, 4, 5, 6, 7]) history.append(say(`m${n}`));
    history.overlays.add({ span: span("m5", "m6"), summary: "older" });
    history.append(say("m8"));
    history.overlays.add({ span: span("m1", "m2"), summary: "newer" });
    expect(
      split(memory)
        .overlays.list()
        .map(({ summary }) => summary),
    ).toEqual(["older", "newer"]);
  });
});

test("a summary that is taken back in the child shows as the record that lies under it: nothing was lost with it", async () => {
  await withProbe(({ memory, history }) => {
    fill(history, 0, 9);
    history.overlays.add({ span: span("m2", "m7"), summary: "what was said" });
    const child = split(memory);
    const [overlay] = child.overlays.list();
    child.overlays.rollback(overlay?.id ?? "");
    expect(JSON.stringify(child.view().messages[2]?.parts)).toContain("what was said");
    expect(child.view().messages).toHaveLength(history.view().messages.length);
  });
});

function costOf(hidden: number) {
  return withProbe(({ memory, history }) => {
    fill(history, 0, hidden + 9);
    history.overlays.add({ span: span("m3", `m${hidden + 2}`), summary: "short" });
    memory.session("child").leafId();
    return measure(memory, () => split(memory));
  });
}

test("seeding costs rows for what is visible, the same with twenty messages under the summaries or a thousand", async () => {
  const [few, many] = [await costOf(20), await costOf(1_000)];
  expect(many).toEqual(few);
  expect(few.rowsWritten).toBeLessThanOrEqual(20);
});

test("an ended session is read as before and refuses what is new, naming the newest; what it holds already is no error", async () => {
  await withProbe(({ memory, history, reopen }) => {
    fill(history, 0, 3);
    split(memory, "b");
    split(memory, "c", "b");
    for (const each of [memory, reopen()]) {
      const ended = each.session("");
      expect(ended.append(say("m1"))).toMatchObject({ inserted: false });
      for (const write of [
        () => ended.append(say("new")),
        () => ended.append(say("root"), null),
        () => ended.upsert(say("m1", "other")),
        () => ended.update(say("m1", "other")),
        () => each.sessions.split("", { id: "d", name: null, detailsOf }),
      ]) {
        expect(write).toThrow(/^\[session_ended\] .*"c"/);
      }
      expect(ended.view().messages).toHaveLength(4);
      expect(each.sessions.newestOf("").id).toBe("c");
      expect(each.sessions.get("")).toMatchObject({ endReason: "compaction", continuedBy: "b" });
    }
    // What was said may still be taken out of it (S2).
    expect(history.delete(["m0"])).toBe(1);
    history.clear();
    expect(() => history.append(say("new"))).toThrow("[session_ended]");
  });
});

test("S2: a deleted parent leaves its child whole and nothing else; a deleted child leaves a gap that its own child closes", async () => {
  await withProbe(({ memory, storage }) => {
    const parent = memory.session("zqparent");
    fill(parent, 0, 9);
    parent.overlays.add({ span: span("m2", "m7"), summary: "what was said" });
    const child = split(memory, "zqchild", "zqparent");
    const shown = child.view();
    memory.sessions.delete("zqparent");
    for (const [name, text] of tables(storage)) expect(text.includes("zqparent"), name).toBe(false);
    expect(child.view()).toEqual(shown);
    expect(memory.sessions.get("zqchild")).toMatchObject({ parentSessionId: null });

    split(memory, "b", "zqchild");
    split(memory, "c", "b");
    memory.sessions.delete("b");
    expect(memory.sessions.newestOf("zqchild").id).toBe("c");
    expect(memory.sessions.earlierOf("c")).toBeNull();
    memory.sessions.delete("c");
    expect(memory.sessions.newestOf("zqchild").id).toBe("zqchild");
    expect(() => child.append(say("new"))).toThrow("fork it");
    memory.sessions.fork("zqchild", { id: "fork", atMessageId: "m9" });
    expect(memory.session("fork").append(say("new"))).toMatchObject({ inserted: true });
  });
});

test("the child goes by its parent's name, or else by the first words that a user said: never by a summary's", async () => {
  await withProbe(({ memory, history }) => {
    fill(history, 0, 9);
    history.overlays.add({ span: span("m0", "m7"), summary: "what was said" });
    split(memory, "b");
    expect(memory.sessions.get("b")?.name).toMatch(/^message m8/);
    memory.sessions.rename("b", "Parsers");
    split(memory, "c", "b");
    expect(memory.sessions.get("c")).toMatchObject({ name: "Parsers", source: "split", parentSessionId: "b" });
  });
});
