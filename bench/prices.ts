/**
 * What a token costs: an assumption, in the shape of the price lists of large models. Put your provider's numbers here.
 */

/** US dollars for a million tokens. */
export const PRICES = {
  /** Sent once, and kept by nobody: a summariser's prompt. */
  input: 3,
  /** Read from the provider's prompt cache. */
  cacheRead: 0.3,
  /** Sent, and kept in the prompt cache for the next request. */
  cacheWrite: 3.75,
  output: 15,
} as const;

export type Priced = { readonly [Kind in keyof typeof PRICES]?: number };

/** US dollars for so many tokens of each kind. */
export function priceOf(tokens: Priced): number {
  const kinds = Object.keys(PRICES) as (keyof typeof PRICES)[];
  return kinds.reduce((sum, kind) => sum + ((tokens[kind] ?? 0) * PRICES[kind]) / 1_000_000, 0);
}
