/**
 * The plan: which part of a view a summary should replace, or why none.
 *
 * Job: turn an outline and a policy into a value; the same call serves a real run and a dry run. Boundary: nothing is
 * read or written, and no content is known. Safe because every plan keeps V1 (head, span and tail cover the view once,
 * chunks cover the span's messages once) and V2 (no boundary between a call and its result) by construction, also when
 * forced.
 */
import { layOut, tokensBetween, type Layout } from "./align.ts";
import { chunkSpan, spanBetween } from "./chunk.ts";
import { cutEnd, cutHead, cutTail, type Cut } from "./cut.ts";
import type { Outline, Span } from "./outline.ts";
import type { Policy } from "./policy.ts";

export type { Policy } from "./policy.ts";

/** Source for one call of the summariser. */
export interface ChunkPlan extends Span {
  readonly index: number;
  readonly tokens: number;
}

/** Why there is nothing to do. Closed: callers switch on it. */
export type NothingReason = "empty" | "under-threshold" | "too-short" | "too-small";

/** Why a boundary is not where the budget alone would have put it. */
export interface BoundaryMove {
  readonly boundary: "head" | "tail";
  readonly why: "tool-pair" | "group" | "user-turn" | "min-tail" | "min-span" | "inside-message";
  readonly tokens: number;
}

export type Plan =
  | {
      readonly kind: "span";
      readonly span: Span;
      /** Overlays inside the span, oldest first: their text is the previous summary. */
      readonly overlayIds: readonly string[];
      readonly chunks: readonly ChunkPlan[];
      readonly headTokens: number;
      readonly spanTokens: number;
      readonly tailTokens: number;
      readonly moves: readonly BoundaryMove[];
    }
  | { readonly kind: "nothing"; readonly reason: NothingReason; readonly detail: string };

export interface PlanOptions {
  /** Plan also under the threshold, and also a span smaller than `minSpanTokens`. */
  readonly force?: boolean;
}

/** Plans one compaction. Never throws on a well-formed outline: having nothing to do is an answer. */
export function planCut(outline: Outline, policy: Policy, options: PlanOptions = {}): Plan {
  const force = options.force === true;
  if (outline.rows.length === 0) return nothing("empty", "The view holds no messages.");
  if (!force && outline.tokens <= policy.thresholdTokens) {
    return nothing(
      "under-threshold",
      `The view is estimated at ${outline.tokens} tokens; the threshold is ${policy.thresholdTokens}.`,
    );
  }
  const layout = layOut(outline);
  const fresh = freshTokens(layout);
  const head = cutHead(layout, policy);
  const gain = (to: number): number => (fresh[to] ?? 0) - (fresh[head.at] ?? 0);
  const cutWhere = (least: number): Cut | null => {
    const worth = (to: number): boolean => to > head.at && gain(to) >= least;
    return outline.truncated ? cutEnd(layout, worth) : cutTail(layout, policy, worth);
  };
  const tail = cutWhere(force ? 1 : Math.max(1, policy.minSpanTokens));
  if (tail === null) {
    const room = cutWhere(0);
    return room === null ? tooShort(outline, policy) : tooSmall(gain(room.at), force ? 1 : policy.minSpanTokens);
  }
  const end = layout.cells.length;
  return {
    kind: "span",
    span: spanBetween(layout, head.at, tail.at),
    overlayIds: layout.cells.slice(head.at, tail.at).flatMap(({ row }) => (row.kind === "overlay" ? [row.id] : [])),
    chunks: chunkSpan(layout, { from: head.at, to: tail.at }, policy.chunkTokens),
    headTokens: tokensBetween(layout, 0, head.at),
    spanTokens: tokensBetween(layout, head.at, tail.at),
    tailTokens: tokensBetween(layout, tail.at, end),
    moves: [...head.moves, ...tail.moves],
  };
}

/** Message tokens before each boundary, overlays left out: what a summary was not yet made of. */
function freshTokens(layout: Layout): readonly number[] {
  const sums = [0];
  for (const { row, tokens } of layout.cells) sums.push((sums.at(-1) ?? 0) + (row.kind === "overlay" ? 0 : tokens));
  return sums;
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
