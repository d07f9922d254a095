/** The growth that makes an update due equals the text that the update reads. Both are counted alike, whatever hides the messages (R4). */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findNew } from "../../src/notes/source.ts";
import type { History } from "../../src/memory/messages/history.ts";
import type { Growth, NotesEnd, NotesVersion } from "../../src/notes/versions.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { say, steps, withProbe } from "../memory/probe.ts";
import { tries } from "../tries.ts";
import { notesIn } from "./in.ts";

/**
 * Messages by their number of steps, and operations on them. These are summaries between two places, some rollbacks, and some grown
 * messages.
 */
const conversation = fc.record({
  lengths: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 3, maxLength: 6 }),
  changes: fc.array(
    fc.record({
      what: fc.constantFrom("lay", "lay", "lay", "roll back", "grow"),
      a: fc.nat(1_000),
      b: fc.nat(1_000),
      fromStep: fc.nat(1_000),
      toStep: fc.option(fc.nat(1_000)),
      words: fc.nat(12),
    }),
    { maxLength: 9 },
  ),
  covered: fc.nat(1_000),
  step: fc.nat(1_000),
});

type Conversation = typeof conversation extends fc.Arbitrary<infer T> ? T : never;

/** Carries it out. Returns the place up to which the notes then tell. */
function build(history: History, { lengths, changes, covered, step }: Conversation): NotesEnd {
  const texts = lengths.map((length, n) => Array.from({ length }, (_, at) => `message ${n}, step ${at}`));
  for (const [n, text] of texts.entries()) history.append(steps(`m${n}`, ...text));
  const laid: string[] = [];
  const stepIn = (n: number, given: number): number => given % (texts[n]?.length ?? 1);
  for (const { what, a, b, ...change } of changes) {
    const from = a % texts.length;
    const to = from + (b % (texts.length - from));
    if (what === "grow") {
      texts[from]?.push(`message ${from}, one more`);
      history.update(steps(`m${from}`, ...(texts[from] ?? [])));
    } else if (what === "roll back") {
      const id = laid[a % Math.max(1, laid.length)];
      if (id !== undefined) history.overlays.rollback(id);
    } else {
      const fromStep = stepIn(from, change.fromStep);
      const toStep = change.toStep === null ? WHOLE_MESSAGE : stepIn(to, change.toStep);
      if (from === to && toStep < fromStep) continue;
      const span = { fromId: `m${from}`, fromStep, toId: `m${to}`, toStep };
      const result = history.overlays.add({ span, summary: `It was said. ${"And so on. ".repeat(change.words)}` });
      if (result.kind !== "stale") laid.push(result.overlay.id);
    }
  }
  const n = covered % texts.length;
  return { messageId: `m${n}`, step: stepIn(n, step) };
}

function look(history: History, after: NotesEnd, known: Growth | null = null): Growth {
  const growth = notesIn(history).growth({ after, enoughTokens: Number.POSITIVE_INFINITY, known });
  if (growth === null) throw new Error("The session has messages.");
  return growth;
}

test("V1: of any view, growth is the tokens of the rows that are read, warm as cold", async () => {
  await withProbe(({ memory }) => {
    let sessions = 0;
    fc.assert(
      fc.property(conversation, (given) => {
        const history = memory.session(`session ${sessions++}`);
        const after = build(history, given);
        const base = { covered: { kind: "to", ...after } } as NotesVersion;
        const end = { messageId: history.leafId() ?? "", step: WHOLE_MESSAGE };
        const read = findNew({ history, notes: notesIn(history) }, base, end).reduce(
          (sum, { tokens }) => sum + tokens,
          0,
        );
        const cold = look(history, after);
        expect(cold.tokens).toBe(read);
        history.append(say("next"));
        expect(look(history, after, cold)).toEqual(look(history, after));
      }),
      { numRuns: tries(400) },
    );
  });
}, 120_000);
