/**
 * Which of two calls costs less: a plain one, or one that continues the prompt in the provider's cache. Pure arithmetic over tokens and
 * price ratios.
 */
import type { Prices } from "../steps/decide/when.ts";

export interface CallTokens {
  /** Tokens of the prompt that the plain call would send. */
  readonly plainTokens: number;
  /** Tokens that the other call reads from the cache, and those that it adds. */
  readonly cachedTokens: number;
  readonly addedTokens: number;
  /** Tokens of either answer. */
  readonly answerTokens: number;
}

/** In tokens of the agent's uncached input, as the prices are. */
export interface Charges {
  readonly plain: number;
  readonly continued: number;
}

/**
 * The charges of both. `input` and `output` are the summariser's prices, and the agent's own input costs 1. An answer of the agent's own
 * model is taken to cost as many times its input as the summariser's answer does.
 */
export function chargesOf(
  { plainTokens, cachedTokens, addedTokens, answerTokens }: CallTokens,
  prices: Prices,
): Charges {
  const { input, output, cacheRead } = prices;
  const plain = input * plainTokens + output * answerTokens;
  // A summariser that charges nothing for input is never the dearer one.
  if (input <= 0) return { plain, continued: Number.POSITIVE_INFINITY };
  return { plain, continued: cacheRead * cachedTokens + addedTokens + (output / input) * answerTokens };
}
