/**
 * What a compaction costs, and after how many further calls of the conversation's own model it has paid for itself.
 *
 * Job: arithmetic on estimates. Boundary: knows tokens and price ratios, no currency and no provider. What is paid:
 * the summariser reads the span and writes the summary; and what stands behind the cut has to be written to the
 * provider's prompt cache again, where it would have been read from it. What is saved, at every further call: reading
 * from the cache what is no longer in the view.
 */
import { DEFAULT_PRICES, HEAD_SHARE_OF_THRESHOLD } from "../../limits.ts";
import type { Policy } from "../plan/policy.ts";

/** Per token, relative to each other. `input` and `output` are the summariser's. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface CompactionCost {
  /** Tokens by which the view shrinks. */
  readonly savedTokens: number;
  /** Tokens behind the cut, the new summary included: no longer what the prompt cache holds. */
  readonly rewrittenTokens: number;
  /** What the summariser reads and writes. */
  readonly summariser: { readonly input: number; readonly output: number };
  readonly prices?: Prices;
}

/** Further model calls after which a compaction has paid for itself: a whole number; Infinity when it never does. */
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
  // A hair off, so that what is a whole number but for floating point is taken as one.
  return savedPerCall === 0 ? Number.POSITIVE_INFINITY : Math.ceil(paid / savedPerCall - 1e-9);
}

/**
 * What a run over a view of this size would come to if its summary used its budget whole: known without reading the view.
 * What is pinned is not counted: a run is kept from starting only by what is sure to be a loss.
 */
export function expectCompaction(
  policy: Policy,
  sizes: { viewTokens: number; overheadTokens: number },
): CompactionCost {
  const { headTokenBudget, tailTokenBudget, summaryTokens, thresholdTokens } = policy;
  // What a head may take up to the hard line says nothing of what it takes.
  const head = Math.min(headTokenBudget, thresholdTokens / HEAD_SHARE_OF_THRESHOLD);
  const span = Math.max(0, Math.ceil(sizes.viewTokens - sizes.overheadTokens - head - tailTokenBudget));
  const summary = Math.min(summaryTokens, span);
  return {
    savedTokens: span - summary,
    rewrittenTokens: summary + tailTokenBudget,
    summariser: { input: span, output: summary },
  };
}
