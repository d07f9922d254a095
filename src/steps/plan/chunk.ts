/**
 * Cuts a span into chunks that the summariser can read in one call.
 *
 * The chunks cover the span's messages exactly once and never reach across an earlier overlay. They have similar sizes,
 * because a tiny last chunk would cost a model call and say little. Their edges break no tool pair and no reply if a
 * chunk within the limit allows that. Otherwise only the summary suffers, because a chunk is never sent to a provider
 * as messages.
 */
import { layOut, tokensBetween, type Layout } from "./align.ts";
import { WHOLE_MESSAGE, type Outline, type Span } from "./outline.ts";

/** Source for one call of the summariser. */
export interface ChunkPlan extends Span {
  readonly index: number;
  readonly tokens: number;
  /** The index of the chunk that this half replaces. Set when no model could summarise that chunk in one piece. */
  readonly halfOf?: number;
}

/** The closed range from boundary `from` to a later boundary `to`, in the ids of {@link Span}. */
export function spanBetween(layout: Layout, from: number, to: number): Span {
  const first = layout.cells[from];
  const last = layout.cells[to - 1];
  if (first === undefined || last === undefined || to <= from)
    throw new RangeError(`No span between boundaries ${from} and ${to}.`);
  const endsRow = layout.rowStarts[last.rowIndex + 1] === to;
  const whole = last.row.kind === "overlay" || (endsRow && last.row.complete);
  return { fromId: first.row.id, fromStep: first.step, toId: last.row.id, toStep: whole ? WHOLE_MESSAGE : last.step };
}

/** Chunks of the messages between two boundaries, at most `chunkTokens` each unless a single step is larger. */
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

/** The boundary within the limit that is nearest to an even share of the rest. Prefers a safe one. */
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

/** Splits a chunk's rows into two chunks of similar size. Empty when it cannot be cut. Their indices count from 0. */
export function halveChunk(outline: Outline): readonly ChunkPlan[] {
  const layout = layOut(outline);
  const to = layout.cells.length;
  const halves = chunkSpan(layout, { from: 0, to }, Math.ceil(tokensBetween(layout, 0, to) * HALF_AND_MARGIN));
  return halves.length === 2 ? halves : [];
}

/** The largest share of the whole that a half may have, because cuts fall between messages. */
const HALF_AND_MARGIN = 0.7;
