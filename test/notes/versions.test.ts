/** Versions of notes and the branches that they hold for, where those differ from the span that they cover whole (C3). */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { History } from "../../src/memory/messages/history.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { NewNotes, NotesEnd, NotesVersion } from "../../src/notes/versions.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { fill, say, span, steps, withProbe } from "../memory/probe.ts";
import { tries } from "../tries.ts";
import { notesIn } from "./in.ts";

const upTo = (messageId: string, step = WHOLE_MESSAGE) => ({ kind: "to", messageId, step }) as const;

function note(history: History, messageId: string | null, more: Partial<NewNotes> = {}): NotesVersion {
  const sections = [{ title: "Task", text: `up to ${messageId}` }];
  const covered = messageId === null ? ({ kind: "none" } as const) : upTo(messageId);
  return notesIn(history).add({ sections, covered, by: "hand", runId: null, model: null, ...more });
}

const detailsOf = ({ details }: OverlayRecord): OverlayRecord["details"] => ({
  ...details,
  madeOf: [],
  draftKey: null,
});

function split(memory: Memory, id: string, from: string): History {
  const continued = (stoodFor: readonly number[]): void =>
    notesIn(memory.session(from)).passOn(notesIn(memory.session(id)), stoodFor);
  memory.sessions.split(from, { id, name: null, detailsOf, continued });
  return memory.session(id);
}

const placeOf = (history: History, id: string) => ({ seq: history.numberOf(id) ?? 0, step: WHOLE_MESSAGE });

const numberOf = (id: string): number => Number(id.slice(1));

const coveredBy = (history: History): unknown => notesIn(history).current()?.covered;

describe("notes whose words tell of more than they cover", () => {
  test("go out of use with the last message that they tell of, and are no other branch's (C3)", async () => {
    await withProbe(({ history }) => {
      fill(history, 0, 9);
      note(history, "m3", { last: placeOf(history, "m7") });
      expect(coveredBy(history)).toEqual(upTo("m3"));
      history.append(say("other"), "m5");
      expect(notesIn(history).current("other")).toBeNull();
      history.update(say("m8", "edited"));
      expect(notesIn(history).current("m9")).not.toBeNull();
      history.update(say("m7", "edited"));
      expect(notesIn(history).current("m9")).toBeNull();
    });
  });

  test("also where they cover nothing", async () => {
    await withProbe(({ history }) => {
      fill(history, 0, 3);
      note(history, null, { last: placeOf(history, "m2") });
      expect(coveredBy(history)).toEqual({ kind: "none" });
      history.delete(["m1"]);
      expect(notesIn(history).current()).toBeNull();
    });
  });
});

const grown = (history: History, after: NotesEnd | null): number =>
  notesIn(history).grownTokens(after, history.active, Number.POSITIVE_INFINITY);

describe("a message that notes tell of as far as a step, while it grows", () => {
  test("leaves them in use, and takes them back with a change of what they tell of (C3)", async () => {
    await withProbe(({ history }) => {
      fill(history, 0, 1);
      history.append(steps("turn", "one", "two"));
      note(history, null, { covered: { kind: "to", ...notesIn(history).endOf("turn")! } });
      expect(coveredBy(history)).toEqual(upTo("turn", 1));
      history.update(steps("turn", "one", "two", "three"));
      history.append(say("m3"));
      expect(coveredBy(history)).toEqual(upTo("turn", 1));
      history.update(steps("turn", "one", "two", "other"));
      expect(coveredBy(history)).toEqual(upTo("turn", 1));
      history.update(steps("turn", "one", "2", "other"));
      expect(notesIn(history).current()).toBeNull();
    });
    await withProbe(({ history }) => {
      history.append(steps("turn", "one", "two"));
      note(history, null, { covered: upTo("turn", 1) });
      history.update(steps("turn", "one"));
      expect(notesIn(history).current()).toBeNull();
    });
  });

  test("is counted by what it grew by, and so is what comes behind it (R4)", async () => {
    await withProbe(({ history }) => {
      fill(history, 0, 1);
      const texts = ["one", "two"];
      history.append(steps("turn", ...texts));
      const after = notesIn(history).endOf("turn");
      let sum = 0;
      const count = (change: () => unknown): void => {
        const before = history.tokens();
        change();
        sum += history.tokens() - before;
        expect(grown(history, after)).toBe(sum);
      };
      count(() => {});
      for (let n = 0; n < 3; n++) {
        texts.push(`step ${n} `.repeat(10));
        count(() => history.update(steps("turn", ...texts)));
      }
      count(() => history.append(say("m3")));
      count(() => history.append(say("m4")));
      count(() => history.delete(["m4"]));
    });
  });

  test("is nothing where a summary hides the last message that is covered, to its end, and no more (R4)", async () => {
    await withProbe(({ history }) => {
      fill(history, 0, 4);
      history.append(steps("turn", "one", "two"));
      const after = notesIn(history).endOf("turn");
      history.overlays.add({ span: span("m1", "turn"), summary: "said at length ".repeat(50) });
      expect(grown(history, after)).toBe(0);
      const before = history.tokens();
      history.append(say("next"));
      const own = history.tokens() - before;
      expect(grown(history, after)).toBe(own);
      history.overlays.add({ span: span("m1", "next"), summary: "said at length ".repeat(50) });
      expect(grown(history, after)).toBeGreaterThan(own);
    });
  });
});

describe("what a split's child is given", () => {
  test("the newest version, under its number, up to the record of a summary that it tells of whole", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 0, 9);
      history.overlays.add({ span: span("m2", "m6"), summary: "what was said" });
      note(history, "m4");
      note(history, "m6");
      const child = split(memory, "child", "");
      const record = [...child.originals()][2]?.id;
      expect(notesIn(child).list()).toMatchObject([
        { n: 2, standing: true, covered: { kind: "to", messageId: record } },
      ]);
      expect(notesIn(child).current()?.sections).toEqual([{ title: "Task", text: "up to m6" }]);
      expect(notesIn(split(memory, "grandchild", "child")).current()?.covered).toEqual(upTo(record ?? ""));
    });
  });

  test("goes out of use with a change of the message in which they end, also where a summary covers its beginning (C3)", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 0, 3);
      history.append(steps("m4", "one", "two"));
      history.overlays.add({ span: span("m1", "m4", [0, 0]), summary: "what was said" });
      note(history, "m0", { last: placeOf(history, "m4") });
      const child = split(memory, "child", "");
      expect(coveredBy(child)).toEqual(upTo("m0"));
      child.update(steps("m4", "one", "2"));
      expect(notesIn(child).current()).toBeNull();
    });
  });

  test("never covers a record that tells of more, nor a message that is not there; what no message is of stays so", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 0, 9);
      history.overlays.add({ span: span("m2", "m6"), summary: "what was said" });
      note(history, "m4");
      const child = split(memory, "child", "");
      expect(coveredBy(child)).toEqual(upTo("m1"));
      // The record repeats the text of the notes, so both go out of use together.
      child.delete([[...child.originals()][2]?.id ?? ""]);
      expect(notesIn(child).current()).toBeNull();
    });
    await withProbe(({ memory, history }) => {
      fill(history, 0, 3);
      note(history, null, { covered: { kind: "unknown" } });
      expect(coveredBy(split(memory, "child", ""))).toEqual({ kind: "unknown" });
    });
  });

  test("V1, C3: whatever is covered and hidden, the child's notes cover what they described and go with it", async () => {
    const shape = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 10 }),
      cuts: fc.array(
        fc.record({
          from: fc.nat(9),
          to: fc.nat(9),
          fromStep: fc.nat(2),
          toStep: fc.constantFrom(0, 1, WHOLE_MESSAGE),
        }),
        { maxLength: 5 },
      ),
      covered: fc.nat(9),
      step: fc.constantFrom(0, 1, WHOLE_MESSAGE),
      beyond: fc.nat(2),
      changed: fc.nat(20),
    });
    await fc.assert(
      fc.asyncProperty(shape, ({ sizes, cuts, covered, step, beyond, changed }) =>
        withProbe(({ memory, history }) => {
          for (const [n, size] of sizes.entries())
            history.append(steps(`m${n}`, ...Array.from({ length: size }, (_, step) => `text ${n} ${step}`)));
          for (const { from, to, fromStep, toStep } of cuts) {
            try {
              history.overlays.add({
                span: { fromId: `m${from}`, fromStep, toId: `m${to}`, toStep },
                summary: "short",
              });
            } catch {
              // No such span.
            }
          }
          const last = covered % sizes.length;
          const described = Math.min(sizes.length - 1, last + beyond);
          note(history, null, { covered: upTo(`m${last}`, step), last: { seq: described, step: WHOLE_MESSAGE } });
          const overlays = history.overlays.list();
          const child = split(memory, "child", "");
          // The numbers of the parent's messages that each message of the child stands for. A message of which it has a part counts whole.
          const stands = [...child.originals()].map(({ id }) => {
            const record = overlays.find((overlay) => id === `palimpsest:record:${overlay.id}`);
            if (record === undefined) return { id, from: numberOf(id), to: numberOf(id), endsWith: null };
            const { fromId, fromStep, toId, toStep } = record.span;
            const from = numberOf(fromId) + Number(fromStep > 0);
            return { id, from, to: numberOf(toId), endsWith: toStep === WHOLE_MESSAGE ? toId : null };
          });
          const ends = step >= (sizes[last] ?? 0) - 1;
          const more = stands.findIndex(({ to, endsWith }) => to > last || (endsWith === `m${last}` && !ends));
          const expected = (more === -1 ? stands : stands.slice(0, more)).at(-1)?.id;
          expect(coveredBy(child)).toEqual(
            expected === undefined ? { kind: "none" } : upTo(expected, expected === `m${last}` ? step : WHOLE_MESSAGE),
          );
          const { id, from } = stands[changed % stands.length]!;
          child.append(say("next"));
          child.delete([id]);
          expect(notesIn(child).current() === null).toBe(from <= described);
        }),
      ),
      { numRuns: tries(100) },
    );
  });
});
