/**
 * Finds where a boundary may fall: never between a tool call and its result, and never inside one provider reply (V2).
 *
 * The outline is laid out as *cells*, one per visible step of a message and one per overlay. Boundary `b` lies before
 * cell `b`, so there is one more boundary than cells. An overlay is one cell, so no boundary cuts into it.
 *
 * Call ids are paired as in view/repair.ts. A result answers the latest waiting call with its id. A call without an
 * answer ties no boundary, so a crash in the middle of a call never blocks compaction. Calls of the newest message that
 * says anything are an exception, because a person, a client or a result beyond a truncated outline can still answer
 * them. They and everything after them stay in view.
 */
import { MESSAGE_OVERHEAD_TOKENS } from "../../limits.ts";
import type { Outline, OutlineRow } from "./outline.ts";

interface Cell {
  readonly row: OutlineRow;
  /** The row's index in the outline. */
  readonly rowIndex: number;
  /** The step of the message. 0 for an overlay. */
  readonly step: number;
  readonly tokens: number;
}

/** The unit that a boundary would break. */
type Tie = "tool-pair" | "group";

export interface Layout {
  readonly cells: readonly Cell[];
  /** `ties[b]` is the unit that boundary `b` would break, or null where it is safe. One longer than `cells`. */
  readonly ties: readonly (Tie | null)[];
  /** `before[b]` has the tokens of all cells before boundary `b`. One longer than `cells`. */
  readonly before: readonly number[];
  /** The first boundary of each row. One longer than the rows, so that it also tells where the last row ends. */
  readonly rowStarts: readonly number[];
}

export function layOut(outline: Outline): Layout {
  const cells = outline.rows.flatMap((row, rowIndex) =>
    row.steps.map((tokens, offset): Cell => ({ row, rowIndex, step: row.firstStep + offset, tokens })),
  );
  const rowStarts = sumsBefore(outline.rows, ({ steps }) => steps.length);
  const before = sumsBefore(cells, ({ tokens }) => tokens);
  return { cells, rowStarts, before, ties: findTies(outline, rowStarts) };
}

/** Tokens between two boundaries. */
export function tokensBetween(layout: Layout, from: number, to: number): number {
  return (layout.before[to] ?? 0) - (layout.before[from] ?? 0);
}

/** The sums of a number of each value before every boundary. One longer than the values. */
export function sumsBefore<Value>(values: readonly Value[], of: (value: Value, at: number) => number): number[] {
  const sums = [0];
  for (const [at, value] of values.entries()) sums.push((sums[at] ?? 0) + of(value, at));
  return sums;
}

function findTies(outline: Outline, rowStarts: readonly number[]): (Tie | null)[] {
  const end = rowStarts.at(-1) ?? 0;
  const ties = Array.from<Tie | null>({ length: end + 1 }).fill(null);
  /** Ties cells `first` to `last` together. */
  const hold = (first: number, last: number, tie: Tie): unknown => ties.fill(tie, first + 1, last + 1);

  for (const { first, last } of replies(outline.rows)) {
    if (first < last) hold(rowStarts[first] ?? 0, (rowStarts[last + 1] ?? 0) - 1, "group");
  }
  const waiting = new Map<string, number>();
  const answering = new Set<number>();
  outline.rows.forEach((row, index) => {
    for (const { id, step, result } of toolEvents(row)) {
      const cell = (rowStarts[index] ?? 0) + step - row.firstStep;
      const call = waiting.get(id);
      if (!result) {
        waiting.set(id, cell);
      } else if (call !== undefined) {
        hold(call, cell, "tool-pair");
        waiting.delete(id);
        answering.add(index);
      }
    }
  });
  let newest = outline.rows.length - 1;
  while (answering.has(newest) || saysNothing(outline.rows[newest])) newest--;
  for (const call of waiting.values()) if (call >= (rowStarts[newest] ?? 0)) hold(call, end, "tool-pair");
  return ties;
}

/** A reply that was stored as a placeholder for a turn, or only has data for the page. Nobody continued from it. */
function saysNothing(row: OutlineRow | undefined): boolean {
  return row?.kind === "message" && row.tokens <= MESSAGE_OVERHEAD_TOKENS;
}

/**
 * First and last row of each provider reply. A user's message ends every reply. Some clients give every message the
 * same id, so an id that returns after a user's message ties nothing.
 */
function replies(rows: readonly OutlineRow[]): readonly { first: number; last: number }[] {
  const ended: { first: number; last: number }[] = [];
  let open = new Map<string, { first: number; last: number }>();
  rows.forEach(({ kind, role, texts, group }, index) => {
    if (kind === "message" && role === "user" && texts.length > 0) {
      ended.push(...open.values());
      open = new Map();
    } else if (group !== null) {
      open.set(group, { first: open.get(group)?.first ?? index, last: index });
    }
  });
  return [...ended, ...open.values()];
}

/** The row's calls and results in the order of its steps. Within a step, a call comes before its result. */
function toolEvents(row: OutlineRow): readonly { id: string; step: number; result: boolean }[] {
  const calls = row.calls.map(([id, step]) => ({ id, step, result: false }));
  const results = row.results.map(([id, step]) => ({ id, step, result: true }));
  return [...calls, ...results].toSorted((a, b) => a.step - b.step);
}
