/**
 * Assumed prices of tokens, like the price lists of large models. Put your provider's numbers here.
 */

/** US dollars per million tokens. */
export const PRICES = {
  /** Sent once without caching, such as a summariser's prompt. */
  input: 3,
  /** Read from the provider's prompt cache. */
  cacheRead: 0.3,
  /** Sent, and written to the prompt cache for the next request. */
  cacheWrite: 3.75,
  output: 15,
} as const;

/** As {@link PRICES}, like the price lists of small models. */
export const SMALL_PRICES = { input: 0.1, cacheRead: 0.025, cacheWrite: 0.1, output: 0.4 } as const;

type Prices = Readonly<Record<keyof typeof PRICES, number>>;

export type Priced = { readonly [Kind in keyof typeof PRICES]?: number };

/** US dollars for these numbers of tokens. */
export function priceOf(tokens: Priced, prices: Prices = PRICES): number {
  const kinds = Object.keys(PRICES) as (keyof typeof PRICES)[];
  return kinds.reduce((sum, kind) => sum + ((tokens[kind] ?? 0) * prices[kind]) / 1_000_000, 0);
}
