/**
 * Cuts a span into pieces that the summariser can read in one call.
 *
 * The pieces cover the span's messages exactly once, never reach across an earlier overlay, and are near each other
 * in size: a tiny last piece costs a model call and says nothing. Their edges break no tool pair and no reply where
 * that leaves a piece within the limit; where it does not, only the reading is poorer, as a chunk is never sent to a
 * provider as messages.
 */
import { layOut, tokensBetween, type Layout } from "./align.ts";
import { WHOLE_MESSAGE, type Outline, type Span } from "./outline.ts";

/** Source for one call of the summariser. */
export interface ChunkPlan extends Span {
  readonly index: number;
  readonly tokens: number;
  /** Of one of two that stand in for a chunk that no model could tell: that chunk's index. */
  readonly halfOf?: number;
}

/** The closed range from boundary `from` to boundary `to` (which is after `from`), named as {@link Span} says. */
export function spanBetween(layout: Layout, from: number, to: number): Span {
  const first = layout.cells[from];
  const last = layout.cells[to - 1];
  if (first === undefined || last === undefined || to <= from)
    throw new RangeError(`No span between boundaries ${from} and ${to}.`);
  const endsRow = layout.rowStarts[last.rowIndex + 1] === to;
  const whole = last.row.kind === "overlay" || (endsRow && last.row.complete);
  return { fromId: first.row.id, fromStep: first.step, toId: last.row.id, toStep: whole ? WHOLE_MESSAGE : last.step };
}

/** Chunks of the messages between two boundaries, at most `chunkTokens` each unless one step alone is larger. */
export function chunkSpan(
  layout: Layout,
  range: { from: number; to: number },
  chunkTokens: number,
): readonly ChunkPlan[] {
  const chunks: ChunkPlan[] = [];
  let at = range.from;
  while (at < range.to) {
    if (layout.cells[at]?.row.kind === "overlay") {
      at++;
      continue;
    }
    let runEnd = at + 1;
    while (runEnd < range.to && layout.cells[runEnd]?.row.kind === "message") runEnd++;
    while (at < runEnd) {
      const to = chunkEnd(layout, { from: at, to: runEnd }, chunkTokens);
      chunks.push({ ...spanBetween(layout, at, to), index: chunks.length, tokens: tokensBetween(layout, at, to) });
      at = to;
    }
  }
  return chunks;
}

/** The boundary within the limit that is nearest to an even share of what is left; a safe one if there is any. */
function chunkEnd(layout: Layout, range: { from: number; to: number }, limit: number): number {
  const rest = tokensBetween(layout, range.from, range.to);
  if (rest <= limit) return range.to;
  const share = rest / Math.ceil(rest / limit);
  let nearest = range.from + 1;
  let safe: number | null = null;
  const distance = (at: number): number => Math.abs(tokensBetween(layout, range.from, at) - share);
  for (let at = range.from + 1; at <= range.to && tokensBetween(layout, range.from, at) <= limit; at++) {
    if (distance(at) <= distance(nearest)) nearest = at;
    if (layout.ties[at] === null && (safe === null || distance(at) <= distance(safe))) safe = at;
  }
  return safe ?? nearest;
}

/** A chunk's rows as two chunks near each other in size; none when it cannot be cut. Their indices count from 0. */
export function halveChunk(outline: Outline): readonly ChunkPlan[] {
  const layout = layOut(outline);
  const to = layout.cells.length;
  const halves = chunkSpan(layout, { from: 0, to }, Math.ceil(tokensBetween(layout, 0, to) * HALF_AND_ROOM));
  return halves.length === 2 ? halves : [];
}

/** A half may be this share of the whole: messages are not cut to measure. */
const HALF_AND_ROOM = 0.7;
