/**
 * Adds model calls to the sums of a session, and turns the sums into costs.
 *
 * Arithmetic alone. What a conversation would have cost without compaction is an estimate: each prompt with all messages
 * of its path, of which a provider with a cache reads as much as the prompt before had, or as it read in truth where
 * that is more: a first prompt may begin like another conversation's. A cache is taken to forget nothing between two
 * calls.
 */
import type { SummariserCall } from "../agent/hooks.ts";
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { EXTRACTIVE_NAME } from "../steps/draft/fallback.ts";

/** Sums over the calls of one model of a session. */
export type CostRow = {
  model: string;
  /** 0 for the agent's own model, 1 for a summariser. */
  summarises: number;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that was read from the provider's cache, and the part that was written to it. */
  cachedTokens: number;
  writtenTokens: number;
  /** Input as it would have been without compaction, and the part of it that the call before would have left in the cache. */
  wholeTokens: number;
  wholeCached: number;
  /** That input at the last call. */
  lastWhole: number;
  /**
   * The newest message at the last call, and the estimated tokens of the path before it. The message is -1 before a call, and once the
   * path was changed.
   */
  pathSeq: number;
  pathTokens: number;
};

/** One call of the agent's own model. */
export interface OwnCall {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  /** Tokens that compaction kept out of the prompt. */
  readonly sparedTokens: number;
  readonly pathSeq: number;
  readonly pathTokens: number;
}

/** Adds a call to the sums of its model, of which there are none before its first call. */
export function addCall(before: CostRow | null, model: string, call: OwnCall): CostRow {
  const row = addCounts(before ?? emptyRow(model, 0), call);
  const cached = Math.min(call.cachedTokens, call.inputTokens);
  const whole = call.inputTokens + call.sparedTokens;
  return {
    ...row,
    wholeTokens: row.wholeTokens + whole,
    wholeCached: row.wholeCached + Math.max(cached, Math.min(row.lastWhole, whole)),
    lastWhole: whole,
    pathSeq: call.pathSeq,
    pathTokens: call.pathTokens,
  };
}

export function addSummary(before: CostRow | null, model: string, counts: SummariserCall["summariser"]): CostRow {
  return addCounts(before ?? emptyRow(model, 1), counts);
}

/** A provider may report more from its cache than the whole prompt. No more than the prompt counts, so no cost is negative. */
function addCounts(
  row: CostRow,
  { inputTokens, outputTokens, cachedTokens = 0, writtenTokens = 0 }: SummariserCall["summariser"],
): CostRow {
  const cached = Math.min(cachedTokens, inputTokens);
  return {
    ...row,
    calls: row.calls + 1,
    inputTokens: row.inputTokens + inputTokens,
    outputTokens: row.outputTokens + outputTokens,
    cachedTokens: row.cachedTokens + cached,
    writtenTokens: row.writtenTokens + Math.min(writtenTokens, inputTokens - cached),
  };
}

function emptyRow(model: string, summarises: number): CostRow {
  const sums = { calls: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0, writtenTokens: 0 };
  return { model, summarises, ...sums, wholeTokens: 0, wholeCached: 0, lastWhole: 0, pathSeq: -1, pathTokens: 0 };
}

/** The sums of one model, by what a provider charges for them. Costs are null where the prices have no such model. */
export interface ModelCosts {
  /** "" for calls that named no model. */
  readonly model: string;
  /** Calls of the model. */
  readonly calls: number;
  /** Tokens of all prompts, those read from and written to a cache among them. */
  readonly inputTokens: number;
  /** Those read from the provider's cache. */
  readonly cachedTokens: number;
  /** Those written to it. */
  readonly writtenTokens: number;
  /** Tokens of all answers. */
  readonly outputTokens: number;
  /** In the currency of the prices. */
  readonly cost: number | null;
}

/** What a conversation has cost so far, by model. */
export interface Costs {
  /** The agent's own models, and the summarisers. */
  readonly agent: readonly ModelCosts[];
  readonly summarisers: readonly ModelCosts[];
  /** The sum of all costs. Null where some model has no price. */
  readonly total: number | null;
  /** An estimate of the same calls with every message in each prompt, and without a summariser. */
  readonly withoutCompaction: {
    readonly inputTokens: number;
    readonly cachedTokens: number;
    readonly total: number | null;
  };
  /** Models that have no price. */
  readonly unpriced: readonly string[];
}

export function reportCosts(rows: readonly CostRow[], list: PriceList): Costs {
  const models = rows.map((row) => {
    const { model, calls, inputTokens, cachedTokens, writtenTokens, outputTokens } = row;
    const cost = priced(list, model, chargedOf(row));
    return { row, shown: { model, calls, inputTokens, cachedTokens, writtenTokens, outputTokens, cost } };
  });
  const own = models.filter(({ row }) => row.summarises === 0);
  const whole = own.map(({ row }) => wholeOf(row));
  return {
    agent: own.map(({ shown }) => shown),
    summarisers: models.flatMap(({ row, shown }) => (row.summarises === 1 ? [shown] : [])),
    total: sumOf(models.map(({ shown }) => shown.cost)),
    withoutCompaction: {
      inputTokens: own.reduce((sum, { row }) => sum + row.wholeTokens, 0),
      cachedTokens: whole.reduce((sum, { cacheRead }) => sum + cacheRead, 0),
      total: sumOf(own.map(({ row }, at) => priced(list, row.model, whole[at] ?? chargedOf(row)))),
    },
    unpriced: [...new Set(models.flatMap(({ shown }) => (shown.cost === null ? [shown.model] : [])))],
  };
}

/** {@link addCounts} bounds what is from the cache, so nothing is negative. */
function chargedOf({ inputTokens, cachedTokens, writtenTokens, outputTokens: output }: CostRow): Charged {
  const input = inputTokens - cachedTokens - writtenTokens;
  return { input, cacheRead: cachedTokens, cacheWrite: writtenTokens, output };
}

/** The calls as they would have been without compaction. A provider that reported no cache has none. */
function wholeOf({ cachedTokens, writtenTokens, wholeTokens, wholeCached, outputTokens: output }: CostRow): Charged {
  if (cachedTokens + writtenTokens === 0) return { input: wholeTokens, cacheRead: 0, cacheWrite: 0, output };
  const fresh = wholeTokens - wholeCached;
  // Some providers keep a prompt without charging for it, and report nothing as written.
  return writtenTokens > 0
    ? { input: 0, cacheRead: wholeCached, cacheWrite: fresh, output }
    : { input: fresh, cacheRead: wholeCached, cacheWrite: 0, output };
}

function priced(list: PriceList, model: string, tokens: Charged): number | null {
  const prices = pricesOf(list, model);
  return prices === null ? null : dollarsOf(tokens, prices);
}

function sumOf(costs: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const cost of costs) {
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}

// Prices of models, and what a number of tokens costs.
//
// Arithmetic alone. It has no list of its own, because prices change and differ by contract.

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
