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

/** Three kinds of providers, in US dollars per million tokens. The ratios between their prices decide when to compact. */
export const PRICE_LISTS = {
  "dear writes": PRICES,
  "no write premium": { input: 1.25, cacheRead: 0.125, cacheWrite: 1.25, output: 10 },
  "no cache": { input: 3, cacheRead: 3, cacheWrite: 3, output: 15 },
} as const satisfies Readonly<Record<string, Prices>>;

/** As {@link PRICES}, like the price lists of small models. */
export const SMALL_PRICES = { input: 0.1, cacheRead: 0.025, cacheWrite: 0.1, output: 0.4 } as const;

export type Prices = Readonly<Record<keyof typeof PRICES, number>>;

export type Priced = { readonly [Kind in keyof typeof PRICES]?: number };

/** US dollars for these numbers of tokens. */
export function priceOf(tokens: Priced, prices: Prices = PRICES): number {
  const kinds = Object.keys(PRICES) as (keyof typeof PRICES)[];
  return kinds.reduce((sum, kind) => sum + ((tokens[kind] ?? 0) * prices[kind]) / 1_000_000, 0);
}
