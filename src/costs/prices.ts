/**
 * Prices of models, and what a number of tokens costs.
 *
 * Arithmetic alone. It has no list of its own, because prices change and differ by contract.
 */
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { EXTRACTIVE_NAME } from "../steps/draft/fallback.ts";

/** What a million tokens cost, in one currency for all models. */
export interface ModelPrices {
  /** Tokens of a prompt that no cache has, and that none keeps. */
  readonly input: number;
  /** Tokens of an answer. */
  readonly output: number;
  /** Tokens read from the provider's prompt cache. Default: as `input`. */
  readonly cacheRead?: number | undefined;
  /** Tokens that the provider writes to its prompt cache. Default: as `input`. */
  readonly cacheWrite?: number | undefined;
}

/** Prices by the model's name as usage is recorded, or as the summariser is named. `*` is for every other model. */
export type PriceList = Readonly<Record<string, ModelPrices>>;

/** Numbers of tokens by what a provider charges for them. */
export interface Charged {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

const PRICED = ["input", "output", "cacheRead", "cacheWrite"] as const;
const MILLION = 1_000_000;

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The prices of a model. Null where the list has none for it. The offline summariser is free. */
export function pricesOf(list: PriceList, model: string): Readonly<Record<keyof ModelPrices, number>> | null {
  if (model === EXTRACTIVE_NAME) return FREE;
  const own = Object.hasOwn(list, model) ? list[model] : list["*"];
  if (own === undefined) return null;
  const { input, output, cacheRead = input, cacheWrite = input } = own;
  return { input, output, cacheRead, cacheWrite };
}

export function dollarsOf(tokens: Charged, prices: Readonly<Record<keyof ModelPrices, number>>): number {
  const { input, output, cacheRead, cacheWrite } = tokens;
  const all = input * prices.input + output * prices.output;
  return (all + cacheRead * prices.cacheRead + cacheWrite * prices.cacheWrite) / MILLION;
}

/** Throws `invalid_options`. */
export function checkPrices(list: PriceList): PriceList {
  if (typeof list !== "object" || list === null || Array.isArray(list)) {
    throw new PalimpsestError(
      "invalid_options",
      "prices is no list of models: give an object with the prices of each, by name.",
    );
  }
  for (const [model, prices] of Object.entries(list)) {
    checkFields(`prices["${model}"]`, prices, { input: true, output: true, cacheRead: true, cacheWrite: true });
    for (const name of PRICED) {
      const price = prices[name] === undefined && name.startsWith("cache") ? 0 : prices[name];
      if (typeof price === "number" && Number.isFinite(price) && price >= 0) continue;
      throw new PalimpsestError(
        "invalid_options",
        `prices["${model}"].${name} is ${inWords(price)}: give what a million tokens cost, a number of at least 0.`,
      );
    }
  }
  return list;
}
