/**
 * Where a boundary may fall: never between a tool call and its result, never inside one provider reply (V2).
 *
 * The outline is laid out as *cells*, one per visible step of a message and one per overlay. Boundary `b` lies before
 * cell `b`, so there is one more boundary than there are cells. An overlay is one cell: nothing can cut into it.
 *
 * Call ids are paired as repair.ts pairs them: a result answers the latest call with its id that still
 * waits. A call that nothing answers holds no boundary, so a crash in the middle of a call never blocks compaction. One
 * exception: those of the newest message that says anything can still be answered, by a person, a client or a result that an outline which was
 * cut off does not reach. They and all that follows them stay in view.
 */
import { MESSAGE_OVERHEAD_TOKENS } from "../../limits.ts";
import type { Outline, OutlineRow } from "./outline.ts";

interface Cell {
  readonly row: OutlineRow;
  /** The row's place in the outline. */
  readonly rowIndex: number;
  /** Step of the message; 0 for an overlay. */
  readonly step: number;
  readonly tokens: number;
}

/** What a boundary would break. */
type Tie = "tool-pair" | "group";

export interface Layout {
  readonly cells: readonly Cell[];
  /** `ties[b]`: what boundary `b` would break, or null where it is safe. One longer than `cells`. */
  readonly ties: readonly (Tie | null)[];
  /** `before[b]`: tokens of all cells before boundary `b`. One longer than `cells`. */
  readonly before: readonly number[];
  /** First boundary of each row; one longer than the rows, so that it also tells where the last row ends. */
  readonly rowStarts: readonly number[];
}

export function layOut(outline: Outline): Layout {
  const cells = outline.rows.flatMap((row, rowIndex) =>
    row.steps.map((tokens, offset): Cell => ({ row, rowIndex, step: row.firstStep + offset, tokens })),
  );
  const rowStarts = [0];
  for (const row of outline.rows) rowStarts.push((rowStarts.at(-1) ?? 0) + row.steps.length);
  const before = [0];
  for (const cell of cells) before.push((before.at(-1) ?? 0) + cell.tokens);
  return { cells, rowStarts, before, ties: findTies(outline, rowStarts) };
}

/** Tokens between two boundaries. */
export function tokensBetween(layout: Layout, from: number, to: number): number {
  return (layout.before[to] ?? 0) - (layout.before[from] ?? 0);
}

function findTies(outline: Outline, rowStarts: readonly number[]): (Tie | null)[] {
  const end = rowStarts.at(-1) ?? 0;
  const ties = Array.from<Tie | null>({ length: end + 1 }).fill(null);
  /** Holds cells `first` to `last` together. */
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

/** A reply that was stored to hold a turn's place, or data for the page: nobody went on with it. */
function saysNothing(row: OutlineRow | undefined): boolean {
  return row?.kind === "message" && row.tokens <= MESSAGE_OVERHEAD_TOKENS;
}

/**
 * First and last row of each provider reply. What a user says ends every reply: an id that comes again after it, from a
 * client that gives each message the same, ties nothing.
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

/** The row's calls and results in the order of its steps; within a step, a call comes before its result. */
function toolEvents(row: OutlineRow): readonly { id: string; step: number; result: boolean }[] {
  const calls = row.calls.map(([id, step]) => ({ id, step, result: false }));
  const results = row.results.map(([id, step]) => ({ id, step, result: true }));
  return [...calls, ...results].toSorted((a, b) => a.step - b.step);
}
