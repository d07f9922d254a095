/** Masks in the store: what a child, a fork and a changed conversation show of them, and the rows that they take. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { errorCode } from "../../src/errors.ts";
import type { History } from "../../src/memory/messages/history.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { tries } from "../tries.ts";
import { detailsOf, hide, mask, masksOf, namesIn, tagsIn, text, work } from "./masked.ts";
import { measure, say, span, withProbe } from "./probe.ts";

test("V1: the child of a split shows its parent's stubs and names, though a summary hides the message of the line", async () => {
  await withProbe(({ memory, history }) => {
    history.append(say("m0"));
    for (const id of ["a", "b", "c", "d"]) history.append(work(id, 3));
    mask(history, 0.75);
    history.append(say("m1"));
    // The line is in `c`, which the summary hides.
    hide(history, span("b", "d"));
    expect(text(history)).toContain("Left out");
    memory.sessions.split("", { id: "child", name: null, detailsOf });
    const child = memory.session("child");
    expect(child.view()).toMatchObject({ messages: history.view().messages, tokens: history.view().tokens });
    child.append(work("e", 2));
    expect(JSON.stringify(child.view().messages.at(-1))).not.toContain("Left out");
  });
});

test("V1, S2: so it is for any messages, masks and summaries, and the child keeps no word of an output that it does not hold", async () => {
  let both = 0;
  const act = fc.oneof(
    fc.record({ kind: fc.constant("work" as const), steps: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant("say" as const) }),
    fc.record({ kind: fc.constant("mask" as const), share: fc.double({ min: 0.1, max: 1, noNaN: true }) }),
    fc.record({
      kind: fc.constant("hide" as const),
      at: fc.nat(30),
      count: fc.integer({ min: 1, max: 4 }),
      fromStep: fc.nat(2),
      toStep: fc.constantFrom(0, 1, WHOLE_MESSAGE),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 6, maxLength: 24 }), (acts) =>
      withProbe(({ memory, history, storage }) => {
        const ids: string[] = [];
        let hidden = 0;
        for (const [n, each] of acts.entries()) {
          if (each.kind === "mask") mask(history, each.share);
          else if (each.kind === "hide") {
            const [from, to] = [ids[each.at % ids.length], ids[(each.at % ids.length) + each.count]];
            if (from === undefined || to === undefined) continue;
            try {
              const { fromStep, toStep } = each;
              if (hide(history, { fromId: from, fromStep, toId: to, toStep }) === "applied") hidden++;
            } catch (error) {
              expect(["unknown_message", "invalid_range"]).toContain(errorCode(error));
            }
          } else {
            ids.push(`m${n}`);
            history.append(each.kind === "work" ? work(`m${n}`, each.steps) : say(`m${n}`));
          }
        }
        const shown = history.view();
        if (JSON.stringify(shown.messages).includes("Left out") && hidden > 0) both++;
        memory.sessions.split("", { id: "child", name: null, detailsOf });
        const child = memory.session("child");
        expect(child.view()).toMatchObject({ messages: shown.messages, tokens: shown.tokens });
        expect(history.view()).toEqual(shown);
        const held = tagsIn(JSON.stringify([child.view().messages, ...child.originals()]));
        for (const tag of tagsIn(JSON.stringify(masksOf(storage, "child")))) expect(held).toContain(tag);
      }),
    ),
    { numRuns: tries(300) },
  );
  expect(both).toBeGreaterThan(3);
});

test("M1: a fork at the line goes on as if the edit were made at its end, so that its rent counts from there", async () => {
  await withProbe(({ memory, history, storage }) => {
    for (let n = 0; n < 10; n++) history.append(work(`m${n}`));
    mask(history, 0.5);
    memory.sessions.fork("", { id: "fork", atMessageId: "m4" });
    expect(masksOf(storage, "fork")).toMatchObject([{ to_seq: 4, top_seq: 4 }]);
    const fork = memory.session("fork");
    for (let n = 10; n < 14; n++) fork.append(work(`m${n}`));
    // The view of the edit had ten steps, of which the fork has five.
    expect(fork.masks.rented()?.sinceEdit).toBe(5);
  });
});

/** A conversation with many edits, of which summaries hide all but the last. */
function grow(history: History, edits: number): void {
  history.append(say("m0"));
  for (let n = 1; n <= 5 * edits; n++) {
    history.append(work(`w${n}`));
    if (n % 5 === 0) mask(history, 0.8);
    if (n % 40 === 0) expect(hide(history, span(`w${Math.max(1, n - 49)}`, `w${n - 10}`))).toBe("applied");
  }
}

test("rows: an append and a grown reply read none and write one, and a first view reads as many with 20 edits as with 100", async () => {
  const costs = [20, 100].map((edits) =>
    withProbe(({ memory, history, storage, reopen }) => {
      grow(history, edits);
      expect(masksOf(storage)).toHaveLength(edits);
      history.masks.rented();
      const append = measure(memory, () => history.append(work("next")));
      const steps = [2, 3].map((count) => measure(memory, () => history.update(work("next", count))).rowsRead);
      const woken = reopen();
      const first = measure(woken, () => woken.session("").view());
      const again = measure(woken, () => woken.session("").view());
      return {
        append,
        steps,
        view: first.rowsRead - again.rowsRead,
        shown: text(history).split("Left out").length - 1,
      };
    }),
  );
  const [few, many] = await Promise.all(costs);
  expect(many).toEqual(few);
  expect(many?.append).toEqual({ rowsRead: 0, rowsWritten: 1 });
  // A reply that grows reads itself and the summary before it.
  expect(many?.steps.at(-1)).toBeLessThanOrEqual(4);
  expect(many?.view).toBeLessThanOrEqual(many?.shown ?? 0);
});

test("S2: where a line moves to a place at which another stands, one row stays, and the names of that one", async () => {
  await withProbe(({ history, storage }) => {
    for (let n = 0; n < 6; n++) history.append(work(`m${n}`));
    mask(history);
    const before = text(history);
    for (let round = 0; round < 5; round++) {
      history.append(work("reply", 5));
      mask(history);
      history.delete(["reply"]);
      history.masks.renewNames(300);
      expect(masksOf(storage)).toHaveLength(1);
      expect(text(history)).toBe(before);
    }
  });
});

test("S2: names that an edit or a deletion takes are chosen anew, from what there is now, beside the stub that is now the last", async () => {
  await withProbe(({ history }) => {
    const names = () => namesIn(history);
    for (let n = 0; n < 12; n++) history.append(work(`m${n}`));
    mask(history, 0.5);
    mask(history);
    history.append(say("u"));
    expect(names()).toContain("parserm3s0");
    for (const change of [() => history.update(work("m3", 1, 9)), () => history.delete(["m11", "u", "m4"])]) {
      change();
      expect(names()).toBe("");
      history.masks.renewNames(300);
      expect(names()).not.toBe("");
      expect(history.tokens()).toBe(history.view().tokens);
      expect(names()).not.toContain("parserm3s0");
      const renewed = text(history);
      history.masks.renewNames(300);
      expect(text(history)).toBe(renewed);
    }
    expect(names()).not.toMatch(/parserm(4|11)s/);
    // A message that gave no words takes none along.
    history.append(say("last"));
    const before = names();
    history.delete(["last"]);
    expect(names()).toBe(before);
  });
});
