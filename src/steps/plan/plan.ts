/**
 * The plan: the part of a view that a summary should replace, or the reason for doing nothing.
 *
 * An outline and a policy in, a value out, for a real run and a dry run alike. Every plan keeps V1 and V2 by construction, even when a person
 * asks for it. V1: head, span and tail cover the view once, and chunks cover the span's messages once. V2: no boundary falls between a call
 * and its result.
 */
import {
  layOut,
  sumsBefore,
  tokensBetween,
  type Layout,
  chunkSpan,
  spanBetween,
  type ChunkPlan,
  cutEnd,
  cutHead,
  cutTail,
  latestTail,
  type Cut,
  type HeadCut,
  type KeptHead,
  type BoundaryMove,
} from "./cut.ts";
import { judge, notDue, type JudgedSize, type NothingReason } from "../decide/decide.ts";
import type { Outline, Span, OutlineRow } from "./outline.ts";
import { messageShares, type Policy } from "./policy.ts";
import { PROMPT_AROUND_TOKENS, PROMPT_OVERHEAD_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";

export type { Policy } from "./policy.ts";

export type SpanPlan = Plan & { readonly kind: "span" };

/** An overlay that is folded in, or a chunk by its index. */
export type PlanPart =
  | { readonly kind: "overlay"; readonly id: string; readonly tokens: number; readonly summaryTokens: number }
  | { readonly kind: "chunk"; readonly index: number };

export type Plan =
  | {
      readonly kind: "span";
      readonly span: Span;
      /** Overlays inside the span, oldest first. Their text is the previous summary. */
      readonly overlayIds: readonly string[];
      /** The level of the new overlay. 0 when it folds none in. */
      readonly level: number;
      /** True when the messages under the overlays are read again instead of their text. */
      readonly rebuild: boolean;
      /** Most source tokens of one chunk. */
      readonly chunkTokens: number;
      /** Most tokens of one summary. A plan of an earlier release has none, and the policy's hold. */
      readonly summaryTokens?: number;
      readonly chunks: readonly ChunkPlan[];
      /** The sources of the summary, in the order of the path. */
      readonly parts: readonly PlanPart[];
      /** The kept part of the start. */
      readonly head: KeptHead;
      readonly headTokens: number;
      readonly spanTokens: number;
      readonly tailTokens: number;
      /** The first message that is kept behind the span. Null when there is none. */
      readonly keptId: string | null;
      readonly moves: readonly BoundaryMove[];
    }
  | { readonly kind: "nothing"; readonly reason: NothingReason; readonly detail: string };

export interface PlanOptions {
  /** Plan even under the threshold, and even a span smaller than `minSpanTokens`. */
  readonly manual?: boolean;
  /** Plan even under the threshold, because a view may be due by its rent. */
  readonly due?: boolean;
  /**
   * `mend` covers only gaps that an edit left between overlays, whatever the threshold says. `rebuild` covers
   * everything that is covered now, from its first drafts.
   */
  readonly only?: "mend" | "rebuild" | undefined;
}

/** Plans one compaction. Never throws on a well-formed outline, because doing nothing is a result. */
export function planCut(outline: Outline, policy: Policy, options: PlanOptions = {}): Plan {
  const manual = options.manual === true;
  if (outline.rows.length === 0) return nothing("empty", "The view holds no messages.");
  const size = sizeOfOutline(outline);
  if (!manual && options.due !== true && options.only === undefined && judge(size, policy).length === 0)
    return nothing("under-threshold", notDue(size, policy).detail);
  const layout = layOut(outline);
  const head = cutHead(layout, policy);
  const input = { layout, outline, policy, head };
  if (options.only === "rebuild") return planRebuild(input);
  const recent = latestTail(layout, policy);
  const gap = findGap(layout, { from: head.at, to: recent }, Math.max(1, policy.minSpanTokens));
  if (gap !== null) return spanPlan(input, gap, head.moves);
  if (options.only === "mend") return nothing("no-gap", "Every overlay of the view stands: nothing is left to mend.");
  return planFresh(input, manual);
}

/** The outline as its size is judged. A view of which only the oldest part was read has more messages than any bound allows. */
export function sizeOfOutline({ tokens, rows, truncated }: Outline): JudgedSize {
  return { tokens, messages: truncated ? Number.POSITIVE_INFINITY : rows.length };
}

/** A laid-out view, and where its head ends. */
interface PlanInput {
  readonly layout: Layout;
  readonly outline: Outline;
  readonly policy: Policy;
  readonly head: HeadCut;
}

/** The part between head and tail that no overlay covers yet. */
function planFresh(input: PlanInput, manual: boolean): Plan {
  const { layout, outline, policy, head } = input;
  const fresh = freshTokens(layout);
  const gain = (from: number, to: number): number => (fresh[to] ?? 0) - (fresh[from] ?? 0);
  const hidden = judge(sizeOfOutline(outline), policy).includes("messages") ? freshMessages(layout) : null;
  const leastMessages = messageShares(policy)?.span ?? 0;
  const isWorth = (from: number, to: number, least: number): boolean =>
    gain(from, to) >= least ||
    (hidden !== null && gain(from, to) > 0 && (hidden[to] ?? 0) - (hidden[from] ?? 0) >= leastMessages);
  const cutWhere = (least: number): Cut | null => {
    const worth = (to: number): boolean => to > head.at && isWorth(head.at, to, least);
    return outline.truncated ? cutEnd(layout, worth) : cutTail(layout, policy, worth);
  };
  const least = manual ? 1 : Math.max(1, policy.minSpanTokens);
  const tail = cutWhere(least);
  if (tail === null) {
    const smaller = cutWhere(0);
    if (smaller === null) return tooShort(outline, policy);
    return tooSmall(gain(head.at, smaller.at), manual ? 1 : policy.minSpanTokens);
  }
  const stacked = stackUp(
    layout,
    { from: head.at, to: tail.at },
    { policy, isWorth: (from) => isWorth(from, tail.at, least) },
  );
  return spanPlan(input, stacked, [...head.moves, ...tail.moves]);
}

function planRebuild(input: PlanInput): Plan {
  const covered = coverAll(input.layout, input.head.at);
  if (covered !== null) return spanPlan(input, covered, input.head.moves);
  return nothing("no-overlay", "No overlay is in force on this branch: there is nothing to rebuild.");
}

/** The plan of an overlay over a part of the view, whose ends are safe boundaries (V1, V2). */
export function spanPlan(
  { layout, policy, head }: Pick<PlanInput, "layout" | "policy"> & { readonly head: Pick<HeadCut, "kept"> },
  stacked: Stacked,
  moves: readonly BoundaryMove[],
): SpanPlan {
  const { from, to, level, rebuild } = stacked;
  const end = layout.cells.length;
  const chunks = chunkSpan(layout, { from, to }, policy.chunkTokens);
  return {
    kind: "span",
    span: spanBetween(layout, from, to),
    overlayIds: layout.cells.slice(from, to).flatMap(({ row }) => (row.kind === "overlay" ? [row.id] : [])),
    level,
    rebuild,
    chunkTokens: policy.chunkTokens,
    summaryTokens: policy.summaryTokens,
    chunks,
    parts: layout.cells.slice(from, to).flatMap((cell) => partAt(cell, chunks)),
    head: hiddenWords(head.kept, new Set(layout.cells.slice(from, to).map(({ row }) => row.id))),
    headTokens: tokensBetween(layout, 0, from),
    spanTokens: tokensBetween(layout, from, to),
    tailTokens: tokensBetween(layout, to, end),
    keptId: layout.cells[to]?.row.id ?? null,
    moves,
  };
}

/** Words are quoted beside the summary only if the summary hides their message. */
function hiddenWords(kept: KeptHead, hidden: ReadonlySet<string>): KeptHead {
  const { inWords, beginningOf } = kept;
  return {
    ...kept,
    inWords: inWords.filter((id) => hidden.has(id)),
    beginningOf: beginningOf !== null && hidden.has(beginningOf) ? beginningOf : null,
  };
}

/** The part that begins with a cell, if one does. */
function partAt({ row, step }: Layout["cells"][number], chunks: readonly ChunkPlan[]): PlanPart[] {
  if (row.kind === "overlay") {
    const { id, tokens, overlay } = row;
    return [{ kind: "overlay", id, tokens, summaryTokens: overlay?.summaryTokens ?? tokens }];
  }
  const chunk = chunks.find(({ fromId, fromStep }) => fromId === row.id && fromStep === step);
  return chunk === undefined ? [] : [{ kind: "chunk", index: chunk.index }];
}

/** Message tokens before each boundary, without overlays. No summary covers these yet. */
export function freshTokens(layout: Layout): readonly number[] {
  return sumsBefore(layout.cells, ({ row, tokens }) => (row.kind === "overlay" ? 0 : tokens));
}

/** Whole messages before each boundary, without overlays. */
function freshMessages({ cells, rowStarts }: Layout): readonly number[] {
  const ends = new Set(rowStarts);
  return sumsBefore(cells, ({ row }, at) => (row.kind === "message" && ends.has(at + 1) ? 1 : 0));
}

function tooShort(outline: Outline, policy: Policy): Plan {
  const kept = `the first ${policy.protectHead}, the last ${policy.minTailMessages} and the last ${policy.tailTokenBudget} tokens`;
  return nothing(
    "too-short",
    `Of ${outline.rows.length} messages in the view, ${kept} are kept, with what is tied to them: nothing is left between.`,
  );
}

function tooSmall(tokens: number, least: number): Plan {
  return nothing(
    "too-small",
    `Between what is kept, ${tokens} tokens are not summarised yet; a compaction is worth it from ${least} on.`,
  );
}

function nothing(reason: NothingReason, detail: string): Plan {
  return { kind: "nothing", reason, detail };
}

/** The overlays that the plan's only chunk carries on. Empty where they are merged with drafts of several chunks, or none is folded in. */
export function carriedBy({ parts, chunks }: SpanPlan, index: number): readonly string[] {
  const last = parts.at(-1);
  const isOnly = parts.filter(({ kind }) => kind === "chunk").length === 1 && chunks[index]?.halfOf === undefined;
  if (!isOnly || last?.kind !== "chunk" || last.index !== index) return [];
  return parts.flatMap((part) => (part.kind === "overlay" ? [part.id] : []));
}

/**
 * Least chunk that a summariser's window must hold (tokens). Smaller chunks would take thousands of calls that say
 * little.
 */
export const MIN_CHUNK_TOKENS = 500;

/** Summaries that a call must have room for beside its source, which are those that it folds, or that stay in front of it, and the answer. */
const SUMMARIES_BESIDE_A_SOURCE = 4;

/** Summaries in the smallest call that folds: two sources and the answer. */
const SUMMARIES_IN_A_FOLD = 3;

/** Part of a summariser's window that one summary may take. A larger one leaves so little beside it that a run takes hundreds of calls. */
export const SUMMARY_OF_WINDOW = 1 / 8;

/**
 * The policy with chunks and summaries small enough for a model of `windowTokens`. A chunk takes at most two thirds of the window, because
 * the token estimate may be off.
 */
export function fitPolicy(policy: Policy, windowTokens: number): Policy {
  const summaryTokens = Math.min(policy.summaryTokens, Math.floor(windowTokens * SUMMARY_OF_WINDOW));
  const budget = budgetBeside(SUMMARIES_BESIDE_A_SOURCE, summaryTokens, windowTokens);
  // Where it has no room for all of those, it has some for a fold, and a smaller chunk would not be worth its call.
  const most = Math.max(budget, MIN_CHUNK_TOKENS);
  return { ...policy, summaryTokens, chunkTokens: Math.max(1, Math.min(policy.chunkTokens, most)) };
}

/** The reason for doing nothing when the window has no room for a chunk worth a call or for a fold of two summaries. Null when it has room. */
export function findSmallWindow(policy: Policy, windowTokens: number): Plan | null {
  const { summaryTokens } = fitPolicy(policy, windowTokens);
  const budget = budgetBeside(SUMMARIES_IN_A_FOLD, summaryTokens, windowTokens);
  if (budget >= Math.min(policy.chunkTokens, MIN_CHUNK_TOKENS)) return null;
  return {
    kind: "nothing",
    reason: "window-too-small",
    detail:
      `A summariser's window of ${windowTokens} tokens has no room for ${MIN_CHUNK_TOKENS} of the conversation beside ` +
      `its prompt and summaries of ${summaryTokens}: it takes a larger window.`,
  };
}

function budgetBeside(summaries: number, summaryTokens: number, windowTokens: number): number {
  return Math.min(besidePrompt(windowTokens) - summaries * summaryTokens, Math.floor((windowTokens * 2) / 3));
}

/** What a prompt's own text leaves of a window. A small window shows less of what is around the source. */
function besidePrompt(windowTokens: number): number {
  return windowTokens - PROMPT_OVERHEAD_TOKENS - Math.min(PROMPT_AROUND_TOKENS, Math.floor(windowTokens / 20));
}

/** Groups drafts for merging, in order. Each group has at least two, so that every round makes progress. */
export function groupDrafts<T extends { readonly tokens: number }>(drafts: readonly T[], limitTokens: number): T[][] {
  const groups: T[][] = [];
  let group: T[] = [];
  let tokens = 0;
  for (const draft of drafts) {
    if (group.length >= 2 && tokens + draft.tokens > limitTokens) {
      groups.push(group);
      group = [];
      tokens = 0;
    }
    group.push(draft);
    tokens += draft.tokens;
  }
  const last = groups.at(-1);
  if (group.length === 1 && last !== undefined) last.push(...group);
  else if (group.length > 0) groups.push(group);
  return groups;
}

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
