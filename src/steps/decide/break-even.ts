/**
 * Estimates the cost of a compaction, and the number of later calls of the conversation's own model that pay it back.
 *
 * Arithmetic on estimates, in tokens and price ratios, without any currency or provider. A compaction costs the
 * summariser's reading of the span and writing of the summary. It also costs cache writes, because the part behind the
 * cut must be written to the provider's prompt cache again instead of being read from it. It saves, at every later
 * call, the cache reads of the tokens that left the view.
 */
import { DEFAULT_PRICES, HEAD_SHARE_OF_THRESHOLD } from "../../limits.ts";
import type { Policy } from "../plan/policy.ts";

/** Prices per token, relative to each other. `input` and `output` are the summariser's. */
export interface Prices {
  /** A token that the summariser reads. */
  readonly input: number;
  /** A token that it writes. */
  readonly output: number;
  /** A token of the conversation's prompt that is read from the provider's cache. */
  readonly cacheRead: number;
  /** A token of that prompt that is sent anew, and written to the cache. */
  readonly cacheWrite: number;
}

export interface CompactionCost {
  /** Tokens by which the view shrinks. */
  readonly savedTokens: number;
  /** Tokens behind the cut, including the new summary. The prompt cache no longer holds them. */
  readonly rewrittenTokens: number;
  /** Tokens that the summariser reads and writes. */
  readonly summariser: { readonly input: number; readonly output: number };
  readonly prices?: Prices;
}

/** Later model calls after which a compaction has paid for itself, as a whole number. Infinity when it never does. */
export function breakEven({
  savedTokens,
  rewrittenTokens,
  summariser,
  prices = DEFAULT_PRICES,
}: CompactionCost): number {
  const rewriting = Math.max(0, prices.cacheWrite - prices.cacheRead);
  const paid =
    summariser.input * prices.input + summariser.output * prices.output + Math.max(0, rewrittenTokens) * rewriting;
  const savedPerCall = Math.max(0, savedTokens) * prices.cacheRead;
  if (paid <= 0) return 0;
  // Subtracts a tiny amount, so that a whole number with a floating-point error is not rounded up.
  return savedPerCall === 0 ? Number.POSITIVE_INFINITY : Math.ceil(paid / savedPerCall - 1e-9);
}

/**
 * The cost of a run over a view of this size whose summary uses its whole budget. It needs no read of the view. Pinned
 * facts are not counted, because a run is only held back by a certain loss.
 */
export function expectCompaction(
  policy: Policy,
  sizes: { viewTokens: number; overheadTokens: number },
): CompactionCost {
  const { headTokenBudget, tailTokenBudget, summaryTokens, thresholdTokens } = policy;
  // A head may have a budget up to the hard line, which does not show how much it takes.
  const head = Math.min(headTokenBudget, thresholdTokens / HEAD_SHARE_OF_THRESHOLD);
  const span = Math.max(0, Math.ceil(sizes.viewTokens - sizes.overheadTokens - head - tailTokenBudget));
  const summary = Math.min(summaryTokens, span);
  return {
    savedTokens: span - summary,
    rewrittenTokens: summary + tailTokenBudget,
    summariser: { input: span, output: summary },
  };
}
