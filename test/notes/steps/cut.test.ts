/** Where notes may become a summary, and when they are due. They replace only messages that they cover, and none that must be kept. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isUpdateDue, planFromNotes, resolveNotesRange, type NotesRange } from "../../../src/notes/steps/cut.ts";
import { latestTail, layOut, tokensBetween } from "../../../src/steps/plan/cut.ts";
import { WHOLE_MESSAGE, type OutlineRow } from "../../../src/steps/plan/outline.ts";
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

const endOf = (messageId: string) => ({ messageId, step: WHOLE_MESSAGE });

/** Whether what stands behind a boundary is as much as a range asks for. */
function isEnough({ cells }: ReturnType<typeof layOut>, boundary: number, range: NotesRange): boolean {
  const kept = cells.slice(boundary);
  const tokens = kept.reduce((sum, cell) => sum + cell.tokens, 0);
  const texts = new Set(kept.flatMap(({ row, step }) => (row.texts.includes(step) ? [row] : [])));
  return tokens >= range.maxTokens || (tokens >= range.minTokens && texts.size >= range.minTextBlockMessages);
}

/** The boundary that a plan or a covered message ends with. */
function boundaryOf({ cells }: ReturnType<typeof layOut>, toId: string, toStep: number): number {
  return cells.findLastIndex(({ row, step }) => row.id === toId && step <= toStep) + 1;
}

const asked = fc.record({
  outline: scene.map(({ outline }) => outline),
  range: fc
    .tuple(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6_000 }))
    .map(([minTokens, minTextBlockMessages, most]) => ({
      minTokens,
      minTextBlockMessages,
      maxTokens: Math.max(minTokens, most),
    })),
  at: fc.nat(30),
  step: fc.constantFrom(0, 1, WHOLE_MESSAGE),
  minTailMessages: fc.nat(4),
});

function plan(rows: readonly OutlineRow[], coveredId: string | null, range: NotesRange) {
  const covered = coveredId === null ? null : endOf(coveredId);
  return planFromNotes(outlineOf(rows), { covered, policy, notes: range });
}

const range: NotesRange = { minTokens: 250, minTextBlockMessages: 2, maxTokens: 600 };

function why(rows: readonly OutlineRow[], coveredId: string): string {
  const found = plan(rows, coveredId, range);
  return found.kind === "nothing" ? `${found.reason}: ${found.detail}` : found.kind;
}

describe("planFromNotes", () => {
  test("V1, V2, C3: hides exactly what the notes cover, leaves what is to be kept, and breaks no tie", () => {
    const met = new Set<string>();
    fc.assert(
      fc.property(asked, ({ outline, range, at, step, minTailMessages }) => {
        const id = outline.rows.at(-1 - (at % Math.max(1, outline.rows.length)))?.id ?? "gone";
        const covered = { messageId: id, step };
        const given = { covered, policy: { ...policy, minTailMessages }, notes: range };
        const found = planFromNotes(outline, given);
        met.add(found.kind === "nothing" ? found.reason : found.kind);
        const layout = layOut(outline);
        const end = boundaryOf(layout, id, step);
        const floor = layout.cells.findLastIndex(({ row }) => row.kind === "overlay") + 1;
        const mayEnd =
          outline.rows.some(({ kind, ...row }) => kind === "message" && row.id === id && row.firstStep <= step) &&
          end >= floor &&
          isEnough(layout, end, range) &&
          end <= latestTail(layout, given.policy) &&
          layout.ties[end] === null;
        if (found.kind === "nothing") {
          const isSmall = found.reason === "too-small" || found.reason === "too-short";
          expect(mayEnd && !isSmall && !outline.truncated).toBe(false);
          return;
        }
        expect(mayEnd).toBe(true);
        expect(boundaryOf(layout, found.span.toId, found.span.toStep)).toBe(end);
        const [first] = layout.cells;
        expect([found.span.fromId, found.span.fromStep]).toEqual([first?.row.id, first?.step]);
        expect(found.headTokens).toBe(0);
        expect(found.spanTokens + found.tailTokens).toBe(tokensBetween(layout, 0, layout.cells.length));
      }),
      { numRuns: 1_500 },
    );
    expect([...met].toSorted()).toEqual(expect.arrayContaining(["not-covered", "span", "too-recent", "too-short"]));
  });

  test("where nobody knows what they cover, hides as much as leaves enough, up to the last boundary without a tie", () => {
    fc.assert(
      fc.property(asked, ({ outline, range }) => {
        const found = planFromNotes(outline, { covered: null, policy, notes: range });
        if (found.kind === "nothing") return;
        const layout = layOut(outline);
        const end = boundaryOf(layout, found.span.toId, found.span.toStep);
        const mayEnd = (at: number): boolean =>
          isEnough(layout, at, range) && at <= latestTail(layout, policy) && layout.ties[at] === null;
        expect(mayEnd(end)).toBe(true);
        for (let at = end + 1; at <= layout.cells.length; at++) expect(mayEnd(at)).toBe(false);
      }),
    );
  });

  const rows = [said("u0", 10), ...Array.from({ length: 20 }, (_, n) => said(`${n % 2 ? "a" : "u"}${n + 1}`, 100))];
  test("keeps all that is not covered, whatever it weighs, and as much as the minimums ask for where nothing is known", () => {
    expect(plan(rows, "a6", range)).toMatchObject({ span: { fromId: "u0", toId: "a6" }, level: 0, tailTokens: 1_400 });
    expect(plan(rows, null, range)).toMatchObject({ span: { toId: "u17" }, tailTokens: 300 });
    expect(plan(rows, null, { ...range, minTextBlockMessages: 5 })).toMatchObject({ span: { toId: "u15" } });
  });

  test("the message that crosses the most is kept, and none before it", () => {
    const large = [said("u0", 100), said("a1", 100), said("u2", 100), said("a3", 900), said("u4", 100), said("a5", 10)];
    const most = { minTokens: 300, minTextBlockMessages: 4, maxTokens: 500 };
    expect(plan(large, null, most)).toMatchObject({ span: { toId: "u2" }, keptId: "a3" });
  });

  test("counts messages that say something, beside a call or not; thinking, blanks, calls and data say nothing", () => {
    const silent = [
      say("a3", "assistant", { type: "reasoning", text: "Perhaps so." }),
      say("a4", "assistant", { type: "data-progress", data: 1 }),
      say("a5", "assistant", text(" "), done("a5-1")),
      say("u6", "user", { type: "file", mediaType: "image/png", url: "https://example.com/a.png" }),
    ];
    const told = [say("u0", "user", text("Begin.")), looking("a1"), looking("a2"), ...silent, looking("a7")];
    const two = { minTokens: 1, minTextBlockMessages: 2, maxTokens: 10_000 };
    expect(plan(told.map(messageRow), null, two)).toMatchObject({ span: { toId: "a1" }, keptId: "a2" });
  });

  test("says in words why notes that end elsewhere are not the summary", () => {
    const stacked = [...rows.slice(0, 4), overlayRow("o1", 300), ...rows.slice(8)];
    expect(why(rows, "gone")).toMatch(/^not-covered: /);
    expect(why(stacked, "a6")).toMatch(/^not-covered: .*an earlier summary hides it/);
    expect(why(stacked, "a2")).toMatch(/^not-covered: An earlier summary stands behind/);
    expect(why(rows.slice(0, 3), "a2")).toMatch(/^too-short: /);
    expect(why(rows, "a20")).toMatch(/^too-recent: /);
  });

  test("V1: a message of which an earlier overlay hides the middle is covered to its last end", () => {
    const first = said("a3", 100, { steps: [50, 50], complete: false });
    const rest = said("a3", 100, { firstStep: 4 });
    const cut = [rows[0]!, rows[1]!, first, overlayRow("o1", 300), rest, ...rows.slice(4, 10)];
    expect(plan(cut, "a3", range)).toMatchObject({
      overlayIds: ["o1"],
      span: { fromId: "u0", toId: "a3", toStep: WHOLE_MESSAGE },
    });
  });

  test("folds in every earlier overlay, one level above the highest", () => {
    const shape = { level: 2, generation: 1, degraded: false };
    const stacked = [rows[0]!, { ...overlayRow("o1", 300), overlay: shape }, overlayRow("o2", 100), ...rows.slice(3)];
    expect(plan(stacked, "a10", range)).toMatchObject({ overlayIds: ["o1", "o2"], level: 3, span: { fromId: "u0" } });
  });
});

const of = (thresholdTokens: number, options = {}) => resolveNotesRange({ thresholdTokens }, options);

describe("resolveNotesRange", () => {
  test("only positive numbers take the place of a default", () => {
    const defaults = { minTokens: 10_000, minTextBlockMessages: 5, maxTokens: 15_000 };
    expect(of(60_000)).toEqual(defaults);
    expect(of(60_000, { minTokens: 0, minTextBlockMessages: -1, maxTokens: Number.NaN })).toEqual(defaults);
    const stated = { minTokens: 5, minTextBlockMessages: 1, maxTokens: 9 };
    expect(of(60_000, stated)).toEqual(stated);
  });

  test("defaults give way to a small threshold, and nothing that is stated exceeds a quarter of it", () => {
    expect(of(600)).toEqual({ minTokens: 100, minTextBlockMessages: 5, maxTokens: 150 });
    expect(of(600_000).maxTokens).toBe(40_000);
    expect(of(600, { minTokens: 1_000, maxTokens: 2_000 })).toMatchObject({ minTokens: 150, maxTokens: 150 });
  });

  test("a most that is stated holds: the default least gives way, and a stated least above it is refused", () => {
    expect(of(60_000, { maxTokens: 5 })).toMatchObject({ minTokens: 5, maxTokens: 5 });
    expect(of(60_000, { maxTokens: 5, minTokens: 0 })).toMatchObject({ minTokens: 5, maxTokens: 5 });
    expect(() => of(60_000, { maxTokens: 5, minTokens: 6 })).toThrow(
      /^\[invalid_options\].*minTokens \(6\).*maxTokens \(5\)/,
    );
  });
});

const isDue = (tokens: number, toolCalls: number, openCall: boolean): boolean =>
  isUpdateDue(tokens, { leastTokens: 100, mostTokens: 200, toolCalls: 2 }, () => ({ toolCalls, openCall }));

test("an update is due at a break, after enough of both; without either once twice the tokens came", () => {
  expect(isDue(99, 9, false)).toBe(false);
  expect(isDue(100, 1, false)).toBe(false);
  expect(isDue(100, 2, true)).toBe(false);
  expect(isDue(100, 2, false)).toBe(true);
  expect(isDue(200, 0, true)).toBe(true);
});
