/**
 * A fast estimate of how many tokens a text costs.
 */

/** Estimated tokens of `text`: a non-negative integer, 0 for the empty text. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 3.4);
}
