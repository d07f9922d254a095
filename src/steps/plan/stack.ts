/**
 * Decides which earlier overlays a new one folds in, and which part of the view is due first.
 *
 * Overlays stand side by side like the digits of a binary counter. A new one has level 0. It folds in the overlay
 * before it while that one's level is not higher than its own, and each fold raises its level by one. So a message is
 * summarised anew at most once per level, and older overlays stay byte for byte the same. A stack that would exceed its
 * budget folds more. A text that was summarised anew too often is made again from its first drafts.
 */
import { FOLD_BEYOND, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import { tokensBetween, type Layout } from "./align.ts";
import type { OutlineRow } from "./outline.ts";
import { messageShares, type Policy } from "./policy.ts";

/** How often a message's text may be summarised anew before its summary is made from the first drafts again. */
export const MAX_GENERATION = 8;

/** A closed part of the view, as boundaries of its layout, and the properties of the new overlay over it. */
export interface Stacked {
  readonly from: number;
  readonly to: number;
  readonly level: number;
  /** True when folded overlays are made again from the drafts of their chunks instead of their summaries. */
  readonly rebuild: boolean;
}

/**
 * The oldest gap before the last overlay of the range that is worth `least` tokens, or null. An edit under an overlay
 * leaves such a gap, and it gets an overlay of its own. A gap that begins or ends within a tool pair is left to the
 * next fold.
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

/** Everything from a boundary to the end of the last overlay. Null when there is no overlay behind the boundary. */
export function coverAll(layout: Layout, from: number): Stacked | null {
  const to = layout.cells.length;
  const last = lastOverlay(layout, { from, to });
  if (last === -1) return null;
  const levels = layout.cells.flatMap(({ row }) => (row.kind === "overlay" ? [shapeOf(row).level] : []));
  return { from, to: last + 1, level: Math.max(...levels), rebuild: true };
}

/** The part after the last overlay of the range, together with the overlays before it that are folded in. */
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
  const budget = policy.stackTokens / FOLD_BEYOND - policy.summaryTokens;
  // The new one stands beside them.
  const places = (messageShares(policy)?.overlays ?? Number.POSITIVE_INFINITY) - 1;
  let left = overlays.length;
  for (const overlay of overlays.toReversed()) {
    const safe = layout.ties[from] === null;
    if (safe && overlay.level > level && standing <= budget && left <= places) break;
    left--;
    from = overlay.at;
    standing -= textTokens(overlay);
    level = Math.max(level, overlay.level) + 1;
    generation = Math.max(generation, overlay.generation);
    degraded ||= overlay.degraded;
  }
  // Includes the uncovered part before the oldest overlay, which no later fold would reach.
  if (overlays[0]?.at === from || layout.ties[from] !== null) from = range.from;
  return { from, to: range.to, level, rebuild: level > 0 && (degraded || generation >= MAX_GENERATION) };
}

function shapeOf({ overlay, tokens }: OutlineRow): Required<NonNullable<OutlineRow["overlay"]>> {
  return { level: 0, generation: 1, degraded: false, summaryTokens: tokens, ...overlay };
}

/** Tokens of a summary without its frame, because a summary's budget counts its text only. */
function textTokens({ summaryTokens }: { readonly summaryTokens: number }): number {
  return Math.max(0, summaryTokens - SUMMARY_FRAME_TOKENS);
}

function lastOverlay(layout: Layout, range: { from: number; to: number }): number {
  return layout.cells.findLastIndex(({ row }, at) => at >= range.from && at < range.to && row.kind === "overlay");
}
