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

/** As {@link PRICES}, in the shape of the price lists of small models. */
export const SMALL_PRICES = { input: 0.1, cacheRead: 0.025, cacheWrite: 0.1, output: 0.4 } as const;

type Prices = Readonly<Record<keyof typeof PRICES, number>>;

export type Priced = { readonly [Kind in keyof typeof PRICES]?: number };

/** US dollars for so many tokens of each kind. */
export function priceOf(tokens: Priced, prices: Prices = PRICES): number {
  const kinds = Object.keys(PRICES) as (keyof typeof PRICES)[];
  return kinds.reduce((sum, kind) => sum + ((tokens[kind] ?? 0) * prices[kind]) / 1_000_000, 0);
}
