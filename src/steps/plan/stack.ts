/**
 * Decides which earlier overlays a new one folds in, and which part of the view is due first.
 *
 * The last summary is carried on until it is full. Then it is closed, and a new one begins beside it, so closed ones stay byte for byte the
 * same. Where another one would have no room, all are folded into one. They are made from the messages again where those are few enough,
 * and so is a text that was written anew too often. Of a long conversation that would read all of it again and again, so there is no end to
 * how often its oldest text is written.
 */
import { SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import { tokensBetween, type Layout } from "./cut.ts";
import type { OutlineRow } from "./outline.ts";
import { messageShares, type Policy } from "./policy.ts";

/** How often a message's text may be summarised anew before its summary is made from the messages again. */
export const MAX_GENERATION = 8;

/** A summary is full from this share of its budget on. What is new would push out what it says. */
const FULL = 0.6;

/** Messages are read again where they take at most this multiple of the threshold. More would cost more than it brings. */
const REREAD = 2.5;

/** A closed part of the view, as boundaries of its layout, and the properties of the new overlay over it. */
export interface Stacked {
  readonly from: number;
  readonly to: number;
  readonly level: number;
  /** True when folded overlays are made again from their messages instead of their summaries. */
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

/**
 * The part after the last overlay of the range, together with the overlays before it that are folded in. `isWorth` says from which
 * boundaries on the part holds enough that no summary covers yet. It is true of the whole range.
 */
export function stackUp(
  layout: Layout,
  range: { from: number; to: number },
  { policy, isWorth }: { readonly policy: Policy; readonly isWorth: (from: number) => boolean },
): Stacked {
  const overlays = layout.cells.flatMap(({ row }, at) =>
    row.kind === "overlay" && at >= range.from && at < range.to ? [{ at, ...shapeOf(row) }] : [],
  );
  const last = overlays.at(-1);
  if (last === undefined) return { ...range, level: 0, rebuild: false };
  const isFull = textTokens(last) > policy.summaryTokens * FULL;
  const closed = isFull ? overlays : overlays.slice(0, -1);
  const folded = hasRoom(closed, policy) ? overlays.slice(closed.length) : overlays;
  const start = folded[0]?.at ?? last.at + 1;
  const earlier = overlays.flatMap(({ at }) => (at < start ? [at] : []));
  // A boundary within a pair moves back. So does one that leaves too little behind it, where what is new stands between summaries.
  const isOpen = (at: number): boolean => layout.ties[at] === null && isWorth(at);
  const found = [start, ...earlier.toReversed()].find(isOpen) ?? range.from;
  // An uncovered part before the oldest summary is taken along, because no later fold would reach it.
  const from = found === overlays[0]?.at ? range.from : found;
  const inside = overlays.filter((each) => each.at >= from);
  const level = inside.reduce((most, each) => Math.max(most, each.level + 1), 0);
  const newTokens = tokensBetween(layout, last.at + 1, range.to);
  return { from, to: range.to, level, rebuild: isMadeAnew(inside, newTokens, policy) };
}

type Standing = Required<NonNullable<OutlineRow["overlay"]>> & { readonly at: number };

/** Whether another summary has room beside the closed ones. */
function hasRoom(closed: readonly Standing[], policy: Policy): boolean {
  const standing = closed.reduce((sum, each) => sum + textTokens(each), 0);
  const places = (messageShares(policy)?.overlays ?? Number.POSITIVE_INFINITY) - 1;
  return standing + policy.summaryTokens <= policy.stackTokens && closed.length <= places;
}

/** Whether the messages under folded summaries are read again, together with what is new, in one call. */
function isMadeAnew(folded: readonly Standing[], newTokens: number, policy: Policy): boolean {
  // A summary without a model says too little to go on from.
  if (folded.some(({ degraded }) => degraded)) return true;
  const isWorn = folded.some(({ generation }) => generation >= MAX_GENERATION);
  const source = folded.reduce((sum, each) => sum + each.sourceTokens, 0);
  const most = Math.min(policy.thresholdTokens * REREAD, policy.chunkTokens);
  return (folded.length > 1 || isWorn) && source + newTokens <= most;
}

function shapeOf({ overlay, tokens }: OutlineRow): Required<NonNullable<OutlineRow["overlay"]>> {
  return {
    level: 0,
    generation: 1,
    degraded: false,
    summaryTokens: tokens,
    sourceTokens: Number.POSITIVE_INFINITY,
    ...overlay,
  };
}

/** Tokens of a summary without its frame, because a summary's budget counts its text only. */
function textTokens({ summaryTokens }: { readonly summaryTokens: number }): number {
  return Math.max(0, summaryTokens - SUMMARY_FRAME_TOKENS);
}

function lastOverlay(layout: Layout, range: { from: number; to: number }): number {
  return layout.cells.findLastIndex(({ row }, at) => at >= range.from && at < range.to && row.kind === "overlay");
}
