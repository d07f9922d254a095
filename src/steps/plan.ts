import type { Span } from "./outline.ts";

/** What a run may do to a view: resolved, validated numbers. Recorded with the run, so that a replay plans alike. */
export interface Policy {
  /** Compact when the view (overhead included) is estimated at more than this many tokens. */
  readonly thresholdTokens: number;
  /** Messages at the start of the path that are never replaced. */
  readonly protectHead: number;
  /** Recent tokens that are kept. */
  readonly tailTokenBudget: number;
  /** Recent messages that are kept, whatever they weigh. */
  readonly minTailMessages: number;
  /** A summary may be at most this many tokens. */
  readonly summaryTokens: number;
  /** A summary must be at most this share of the tokens it replaces. */
  readonly maxSummaryRatio: number;
  /** A span smaller than this many tokens is not worth a model call. */
  readonly minSpanTokens: number;
  /** Most source tokens given to the summariser in one call. */
  readonly chunkTokens: number;
}

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
  readonly why: "tool-pair" | "group" | "user-turn" | "min-tail" | "inside-message";
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
