/** The span that notes replace. It holds only messages that they cover, and none that must be kept. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { layOut, tokensBetween } from "../../../src/steps/plan/cut.ts";
import { WHOLE_MESSAGE, type Outline, type OutlineRow } from "../../../src/steps/plan/outline.ts";
import { tokensToKeep } from "../../../src/notes/steps/due.ts";
import { planFromNotes, resolveNotesRange, type NotesRange } from "../../../src/notes/steps/range.ts";
import { resolvePolicy, type Policy } from "../../../src/steps/plan/policy.ts";
import { done, messageRow, outlineOf, overlayRow, say, scene, text } from "../../steps/conversations.ts";

const policy: Policy = { ...resolvePolicy({ thresholdTokens: 2_000 }), protectHead: 1, minSpanTokens: 1 };

const said = (id: string, tokens: number, more: Partial<OutlineRow> = {}): OutlineRow => ({
  texts: [0],
  kind: "message",
  id,
  role: id.startsWith("u") ? "user" : "assistant",
  tokens,
  firstStep: 0,
  steps: [tokens],
  complete: true,
  calls: [],
  results: [],
  group: null,
  ...more,
});

const looking = (id: string): UIMessage => say(id, "assistant", text("I look."), done(`${id}-1`));
const silent = [
  say("a3", "assistant", { type: "reasoning", text: "Perhaps so." }),
  say("a4", "assistant", { type: "data-progress", data: 1 }),
  say("a5", "assistant", text(" "), done("a5-1")),
  say("u6", "user", { type: "file", mediaType: "image/png", url: "https://example.com/a.png" }),
];

const notesRange: fc.Arbitrary<NotesRange> = fc
  .tuple(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6_000 }))
  .map(([minTokens, minTextBlockMessages, most]) => ({
    minTokens,
    minTextBlockMessages,
    maxTokens: Math.max(minTokens, most),
  }));

const asked = fc.record({
  outline: scene.map(({ outline }) => outline),
  notes: notesRange,
  at: fc.nat(30),
  unknown: fc.nat(4).map((n) => n === 0),
});

const endOf = (messageId: string) => ({ messageId, step: WHOLE_MESSAGE });

/** Boundary behind the span of a plan over the outline. */
function boundaryOf(outline: Outline, span: { toId: string; toStep: number }): number {
  const { cells } = layOut(outline);
  return cells.findLastIndex(({ row, step }) => row.id === span.toId && step <= span.toStep) + 1;
}

function detailOf(given: readonly OutlineRow[], coveredId: string, range: NotesRange): string {
  const plan = planFromNotes(outlineOf(given), { covered: endOf(coveredId), policy, notes: range });
  return plan.kind === "nothing" ? `${plan.reason}: ${plan.detail}` : plan.kind;
}

describe("what an update leaves for the next one", () => {
  const rows = fc
    .array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.boolean()), { minLength: 4, maxLength: 30 })
    .map((given) => given.map(([tokens, hasText], n) => said(`a${n}`, tokens, { texts: hasText ? [0] : [] })));

  test("is as much as a compaction keeps: notes of all before it are its summary, and of one message more are not", () => {
    const ranges = fc.record({
      minTokens: fc.integer({ min: 1, max: 500 }),
      minTextBlockMessages: fc.integer({ min: 1, max: 3 }),
      maxTokens: fc.integer({ min: 500, max: 1_200 }),
    });
    fc.assert(
      fc.property(rows, ranges, (given, range) => {
        const outline = outlineOf(given);
        const total = given.reduce((sum, { tokens }) => sum + tokens, 0);
        let left = total - tokensToKeep(given, { range, minTailMessages: 0 }, 0);
        const covered = given.filter(({ tokens }) => (left -= tokens) >= 0);
        const free = { ...policy, minTailMessages: 0 };
        const boundary = (count: number): string | undefined => {
          const end = given[count - 1];
          if (end === undefined) return undefined;
          const plan = planFromNotes(outline, { covered: endOf(end.id), policy: free, notes: range });
          return plan.kind === "nothing" ? undefined : plan.span.toId;
        };
        if (covered.length === 0) return;
        expect(boundary(covered.length)).toBe(covered.at(-1)?.id);
        if (covered.length < given.length) expect(boundary(covered.length + 1)).toBe(covered.at(-1)?.id);
      }),
    );
  });

  test("is less by what will still come, and nothing behind a summary", () => {
    const range = { minTokens: 300, minTextBlockMessages: 1, maxTokens: 1_000 };
    const given = [said("u0", 500), said("a1", 100), said("a2", 100), said("a3", 100)];
    expect(tokensToKeep(given, { range, minTailMessages: 0 }, 0)).toBe(300);
    expect(tokensToKeep(given, { range, minTailMessages: 0 }, 150)).toBe(200);
    expect(tokensToKeep(given, { range, minTailMessages: 0 }, 300)).toBe(100);
    // The last messages are kept whole, whatever comes is one of them.
    expect(tokensToKeep(given, { range, minTailMessages: 4 }, 0)).toBe(800);
    expect(tokensToKeep(given, { range, minTailMessages: 4 }, 300)).toBe(300);
    expect(tokensToKeep([overlayRow("o", 50), said("a1", 100)], { range, minTailMessages: 0 }, 0)).toBe(100);
  });
});

describe("planFromNotes", () => {
  test("V1, V2: never replaces what the notes do not cover, never breaks a tie, never ends inside earlier overlays", () => {
    fc.assert(
      fc.property(asked, ({ outline, notes, at, unknown }) => {
        const row = outline.rows[at % Math.max(1, outline.rows.length)];
        const covered = unknown ? null : endOf(row?.id ?? "gone");
        const plan = planFromNotes(outline, { covered, policy, notes });
        if (plan.kind === "nothing") return;
        const layout = layOut(outline);
        const end = boundaryOf(outline, plan.span);
        const most = covered === null ? layout.cells.length : (layout.rowStarts[(at % outline.rows.length) + 1] ?? 0);
        expect(end).toBeLessThanOrEqual(most);
        expect(layout.ties[end]).toBeNull();
        expect(layout.cells.slice(end).every((cell) => cell.row.kind === "message")).toBe(true);
        expect(
          layout.cells.findIndex(({ row, step }) => row.id === plan.span.fromId && step === plan.span.fromStep),
        ).toBe(0);
        expect(plan.headTokens + plan.spanTokens + plan.tailTokens).toBe(tokensBetween(layout, 0, layout.cells.length));
      }),
    );
  });

  test("keeps the least tokens and the least messages with text, unless the most is reached or nothing is left", () => {
    fc.assert(
      fc.property(asked, ({ outline, notes }) => {
        const plan = planFromNotes(outline, { covered: null, policy, notes });
        if (plan.kind === "nothing" || plan.moves.some(({ why }) => why !== "min-tail" && why !== "inside-message"))
          return;
        const layout = layOut(outline);
        const end = boundaryOf(outline, plan.span);
        const kept = layout.cells.slice(end);
        const texts = new Set(kept.flatMap(({ row, step }) => (row.texts.includes(step) ? [row.id] : [])));
        const enough = plan.tailTokens >= notes.minTokens && texts.size >= notes.minTextBlockMessages;
        const atFloor = layout.cells[end - 1]?.row.kind === "overlay";
        expect(enough || plan.tailTokens >= notes.maxTokens || atFloor).toBe(true);
      }),
    );
  });

  test("the last messages are always kept, as far as a tail holds them, whoever covers them", () => {
    fc.assert(
      fc.property(asked, fc.nat(4), ({ outline, notes, at, unknown }, minTailMessages) => {
        const row = outline.rows[at % Math.max(1, outline.rows.length)];
        const covered = unknown ? null : endOf(row?.id ?? "gone");
        const plan = planFromNotes(outline, { covered, policy: { ...policy, minTailMessages }, notes });
        if (plan.kind === "nothing") return;
        const kept = layOut(outline).cells.slice(boundaryOf(outline, plan.span));
        const floor = outline.rows.findLastIndex(({ kind }) => kind === "overlay");
        const behind = outline.rows.slice(floor + 1);
        for (const message of minTailMessages === 0 ? [] : behind.slice(-minTailMessages).toReversed()) {
          const steps = kept.filter((cell) => cell.row === message).length;
          expect(steps).toBeGreaterThan(0);
          if (steps === message.steps.length) continue;
          expect(message.tokens).toBeGreaterThan(policy.tailTokenBudget);
          break;
        }
      }),
    );
  });

  test("the message that crosses the most is kept, and none before it", () => {
    const large = [said("u0", 100), said("a1", 100), said("u2", 100), said("a3", 900), said("u4", 100), said("a5", 10)];
    const range = { minTokens: 300, minTextBlockMessages: 4, maxTokens: 500 };
    const plan = planFromNotes(outlineOf(large), { covered: endOf("a5"), policy, notes: range });
    expect(plan).toMatchObject({ kind: "span", span: { toId: "u2" }, keptId: "a3" });
  });

  test("a last message of the user that is larger than the most is kept", () => {
    const large = [said("u0", 100), said("a1", 100), said("u2", 900)];
    const range = { minTokens: 100, minTextBlockMessages: 1, maxTokens: 500 };
    const least = { ...policy, minTailMessages: 0 };
    const plan = planFromNotes(outlineOf(large), { covered: endOf("u2"), policy: least, notes: range });
    expect(plan).toMatchObject({ kind: "span", span: { toId: "a1" }, keptId: "u2", tailTokens: 900 });
  });

  const rows = [said("u0", 10), ...Array.from({ length: 20 }, (_, n) => said(`${n % 2 ? "a" : "u"}${n + 1}`, 100))];
  const notes: NotesRange = { minTokens: 250, minTextBlockMessages: 2, maxTokens: 600 };

  test("starts behind the last covered message and goes back until both minimums are met", () => {
    const plan = planFromNotes(outlineOf(rows), { covered: endOf("a20"), policy, notes });
    expect(plan).toMatchObject({ kind: "span", span: { fromId: "u0", toId: "u17", toStep: WHOLE_MESSAGE }, level: 0 });
    const texts = planFromNotes(outlineOf(rows), {
      covered: endOf("a20"),
      policy,
      notes: { ...notes, minTextBlockMessages: 5 },
    });
    expect(texts).toMatchObject({ span: { toId: "u15" } });
  });

  test("counts messages that say something, beside a call or not; thinking, blanks, calls and data say nothing", () => {
    const told = [say("u0", "user", text("Begin.")), looking("a1"), looking("a2"), ...silent, looking("a7")];
    const plan = planFromNotes(outlineOf(told.map(messageRow)), {
      covered: endOf("a7"),
      policy,
      notes: { minTokens: 1, minTextBlockMessages: 2, maxTokens: 10_000 },
    });
    expect(plan).toMatchObject({ kind: "span", span: { toId: "a1" }, keptId: "a2" });
  });

  test("keeps all that is not covered, whatever it weighs", () => {
    const plan = planFromNotes(outlineOf(rows), { covered: endOf("a6"), policy, notes });
    expect(plan).toMatchObject({ kind: "span", span: { toId: "a6" }, tailTokens: 1_400 });
  });

  test("of notes whose last message nobody knows, keeps what the minimums ask for", () => {
    const plan = planFromNotes(outlineOf(rows), { covered: null, policy, notes });
    expect(plan).toMatchObject({ kind: "span", span: { toId: "u17" }, tailTokens: 300 });
  });

  test("a last message that is gone, or under an earlier overlay, is not covered", () => {
    expect(planFromNotes(outlineOf(rows), { covered: endOf("gone"), policy, notes })).toMatchObject({
      reason: "not-covered",
    });
    const stacked = [...rows.slice(0, 4), overlayRow("o1", 300), ...rows.slice(8)];
    expect(planFromNotes(outlineOf(stacked), { covered: endOf("u3"), policy, notes })).toMatchObject({
      reason: "not-covered",
    });
  });

  test("says in words why notes that end too early are not covered, and why nothing is left to replace", () => {
    const stacked = [...rows.slice(0, 4), overlayRow("o1", 300), ...rows.slice(8)];
    expect(detailOf(stacked, "a6", notes)).toMatch(/^not-covered: .*an earlier summary hides it/);
    expect(detailOf(stacked, "a2", notes)).toMatch(/^not-covered: An earlier summary stands behind/);
    expect(detailOf(rows.slice(0, 3), "a2", notes)).toMatch(/^too-short: All of the view is what/);
  });

  test("V1: a message of which an earlier overlay hides the middle is covered to its last end", () => {
    const first = said("a3", 100, { steps: [50, 50], complete: false });
    const rest = said("a3", 100, { firstStep: 4 });
    const cut = [rows[0]!, rows[1]!, first, overlayRow("o1", 300), rest, ...rows.slice(4, 10)];
    const plan = planFromNotes(outlineOf(cut), { covered: endOf("a3"), policy, notes });
    expect(plan).toMatchObject({
      kind: "span",
      overlayIds: ["o1"],
      span: { fromId: "u0", toId: "a3", toStep: WHOLE_MESSAGE },
    });
  });

  test("folds in every earlier overlay, one level above the highest", () => {
    const shape = { level: 2, generation: 1, degraded: false };
    const stacked = [rows[0]!, { ...overlayRow("o1", 300), overlay: shape }, overlayRow("o2", 100), ...rows.slice(3)];
    const plan = planFromNotes(outlineOf(stacked), { covered: endOf("a20"), policy, notes });
    expect(plan).toMatchObject({ kind: "span", overlayIds: ["o1", "o2"], level: 3, span: { fromId: "u0" } });
  });

  test("never expands past the last overlay", () => {
    const stacked = [rows[0]!, ...rows.slice(1, 10), overlayRow("o1", 300), ...rows.slice(19)];
    const plan = planFromNotes(outlineOf(stacked), { covered: endOf("a20"), policy, notes });
    expect(plan).toMatchObject({ kind: "span", span: { toId: "o1" }, tailTokens: 200 });
  });
});

describe("resolveNotesRange", () => {
  test("only positive numbers take the place of a default", () => {
    const defaults = { minTokens: 10_000, minTextBlockMessages: 5, maxTokens: 15_000 };
    expect(resolveNotesRange({ thresholdTokens: 60_000 }, {})).toEqual(defaults);
    expect(
      resolveNotesRange({ thresholdTokens: 60_000 }, { minTokens: 0, minTextBlockMessages: -1, maxTokens: Number.NaN }),
    ).toEqual(defaults);
    expect(
      resolveNotesRange({ thresholdTokens: 60_000 }, { minTokens: 5, minTextBlockMessages: 1, maxTokens: 9 }),
    ).toEqual({
      minTokens: 5,
      minTextBlockMessages: 1,
      maxTokens: 9,
    });
  });

  test("defaults give way to a small threshold, and nothing that is stated exceeds a quarter of it", () => {
    expect(resolveNotesRange({ thresholdTokens: 600 }, {})).toEqual({
      minTokens: 100,
      minTextBlockMessages: 5,
      maxTokens: 150,
    });
    expect(resolveNotesRange({ thresholdTokens: 600_000 }, {}).maxTokens).toBe(40_000);
    const stated = { minTokens: 1_000, maxTokens: 2_000 };
    expect(resolveNotesRange({ thresholdTokens: 600 }, stated)).toMatchObject({ minTokens: 150, maxTokens: 150 });
  });

  test("a most that is stated holds: the default least gives way, and a stated least above it is refused", () => {
    const policy = { thresholdTokens: 60_000 };
    expect(resolveNotesRange(policy, { maxTokens: 5 })).toMatchObject({ minTokens: 5, maxTokens: 5 });
    expect(resolveNotesRange(policy, { maxTokens: 5, minTokens: 0 })).toMatchObject({ minTokens: 5, maxTokens: 5 });
    expect(() => resolveNotesRange(policy, { maxTokens: 5, minTokens: 6 })).toThrow(
      /^\[invalid_options\].*minTokens \(6\).*maxTokens \(5\)/,
    );
  });
});
