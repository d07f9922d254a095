/**
 * Which earlier overlays a new one folds in, and which part of the view is due first.
 *
 * Overlays stand side by side like the digits of a binary counter: a new one has level 0, and takes in the one before
 * it while that one's level is not higher than its own, which raises it by one. So a message is written anew at most once
 * for each level, whatever the number of compactions, and what is older stays as it is, byte for byte. A stack that would
 * outgrow its budget folds more; a text that would be written anew too often is made from its first drafts again.
 */
import { FOLD_BEYOND, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import { tokensBetween, type Layout } from "./align.ts";
import type { OutlineRow } from "./outline.ts";
import type { Policy } from "./policy.ts";

/** How often a message's text may be written anew before its summary is made from the first drafts again. */
export const MAX_GENERATION = 8;

/** A closed part of the view, as boundaries of its layout, and what the overlay over it will be. */
export interface Stacked {
  readonly from: number;
  readonly to: number;
  readonly level: number;
  /** True when what is folded in is made from the drafts of its chunks again, and not from its summaries. */
  readonly rebuild: boolean;
}

/**
 * The oldest uncovered stretch before the last overlay of the range that is worth `least` tokens, or null: what an edit
 * under an overlay left behind. It gets an overlay of its own. One that begins or ends within a tool pair is not mended
 * by itself: the next fold takes it in.
 */
export function findGap(layout: Layout, range: { from: number; to: number }, least: number): Stacked | null {
  const { cells, ties } = layout;
  let from = range.from;
  const last = lastOverlay(layout, { from, to: cells.length });
  for (let at = range.from; at <= Math.min(last, range.to); at++) {
    if (cells[at]?.row.kind !== "overlay") continue;
    const whole = ties[from] === null && ties[at] === null;
    if (whole && at > from && tokensBetween(layout, from, at) >= least)
      return { from, to: at, level: 0, rebuild: false };
    from = at + 1;
  }
  return null;
}

/** Everything from a boundary to the end of the last overlay; null when there is no overlay behind it. */
export function coverAll(layout: Layout, from: number): Stacked | null {
  const to = layout.cells.length;
  const last = lastOverlay(layout, { from, to });
  if (last === -1) return null;
  const levels = layout.cells.flatMap(({ row }) => (row.kind === "overlay" ? [shapeOf(row).level] : []));
  return { from, to: last + 1, level: Math.max(...levels), rebuild: true };
}

/** What follows the last overlay of the range, and the overlays before it that are folded in. */
export function stackUp(layout: Layout, range: { from: number; to: number }, policy: Policy): Stacked {
  const overlays = layout.cells.flatMap(({ row }, at) =>
    row.kind === "overlay" && at >= range.from && at < range.to ? [{ at, ...shapeOf(row) }] : [],
  );
  const last = overlays.at(-1);
  let from = last === undefined ? range.from : last.at + 1;
  let standing = overlays.reduce((sum, each) => sum + textTokens(each), 0);
  let level = 0;
  let generation = 1;
  let degraded = false;
  const room = policy.stackTokens / FOLD_BEYOND - policy.summaryTokens;
  for (const overlay of overlays.toReversed()) {
    const safe = layout.ties[from] === null;
    if (safe && overlay.level > level && standing <= room) break;
    from = overlay.at;
    standing -= textTokens(overlay);
    level = Math.max(level, overlay.level) + 1;
    generation = Math.max(generation, overlay.generation);
    degraded ||= overlay.degraded;
  }
  // What is uncovered before the oldest overlay would stay uncovered for ever once nothing before it is folded.
  if (overlays[0]?.at === from || layout.ties[from] !== null) from = range.from;
  return { from, to: range.to, level, rebuild: level > 0 && (degraded || generation >= MAX_GENERATION) };
}

function shapeOf({ overlay, tokens }: OutlineRow): Required<NonNullable<OutlineRow["overlay"]>> {
  return { level: 0, generation: 1, degraded: false, summaryTokens: tokens, ...overlay };
}

/** Of a summary without what stands around it: the budget of a summary is that of its text. */
function textTokens({ summaryTokens }: { readonly summaryTokens: number }): number {
  return Math.max(0, summaryTokens - SUMMARY_FRAME_TOKENS);
}

function lastOverlay(layout: Layout, range: { from: number; to: number }): number {
  return layout.cells.findLastIndex(({ row }, at) => at >= range.from && at < range.to && row.kind === "overlay");
}
