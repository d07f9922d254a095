/**
 * Decides when a session is compacted automatically, by a threshold, a hard limit and a budget.
 *
 * Past the threshold a run is asked for. It waits, with a reason, while the breaker is open, the budget is spent or the
 * last run failed a moment ago. Past the hard line it waits no longer. If no model may be asked then, the run ends in an extractive summary, which needs none.
 */
import { inWords, PalimpsestError } from "../../errors.ts";
import { checkFields } from "../../known-fields.ts";
import { DEFAULT_PRICES, HARD_LINE } from "../../limits.ts";
import { resolveBudget, type Budget, type BudgetOptions } from "./budget.ts";

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

export interface When {
  /** With `ceiling`, a view over the threshold is due. With `rent`, a view is also due once its rent is (rent.ts). */
  readonly rule: "ceiling" | "rent";
  /** A view larger than this many tokens is compacted at any cost. */
  readonly hardTokens: number;
  /** The context window of the conversation's own model, in tokens. Null when it was not given. */
  readonly windowTokens: number | null;
  readonly budget: Budget;
  readonly prices: Prices;
}

export interface WhenOptions {
  /** Tokens of the view at which waiting ends. Default: the window if it was given, else one and a half thresholds. */
  readonly hardTokens?: number | undefined;
  /** The context window of the conversation's own model, in tokens. */
  readonly windowTokens?: number | undefined;
  /** Tokens that summarising may cost, in and out of the summariser. Default: without bound. */
  readonly budget?: BudgetOptions | undefined;
  /** Price ratios. Default: cache read 0.1, cache write 1.25, input 1, output 5. */
  readonly prices?: { readonly [Key in keyof Prices]?: Prices[Key] | undefined } | undefined;
}

/** Fills in the defaults and checks each number. Throws `invalid_options`. */
export function resolveWhen(thresholdTokens: number, options: WhenOptions): When {
  const { windowTokens = null } = options;
  const hardTokens = options.hardTokens ?? windowTokens ?? Math.ceil(thresholdTokens * HARD_LINE);
  atLeast("windowTokens", windowTokens ?? thresholdTokens, thresholdTokens);
  atLeast("hardTokens", hardTokens, thresholdTokens);
  return {
    rule: "ceiling",
    hardTokens,
    windowTokens,
    budget: resolveBudget(options.budget),
    prices: resolvePrices(options.prices ?? {}),
  };
}

function resolvePrices(options: NonNullable<WhenOptions["prices"]>): Prices {
  checkFields("prices", options, { input: true, output: true, cacheRead: true, cacheWrite: true });
  const prices = {
    input: options.input ?? DEFAULT_PRICES.input,
    output: options.output ?? DEFAULT_PRICES.output,
    cacheRead: options.cacheRead ?? DEFAULT_PRICES.cacheRead,
    cacheWrite: options.cacheWrite ?? DEFAULT_PRICES.cacheWrite,
  };
  for (const [name, price] of Object.entries(prices)) {
    if (Number.isFinite(price) && price >= 0) continue;
    throw new PalimpsestError("invalid_options", `prices.${name} is ${inWords(price)}: give a number of at least 0.`);
  }
  if (prices.cacheWrite < prices.cacheRead) {
    throw new PalimpsestError(
      "invalid_options",
      `prices.cacheWrite is ${prices.cacheWrite}, less than prices.cacheRead, ${prices.cacheRead}: give all that a token sent anew costs, 1 where the cache adds nothing.`,
    );
  }
  return prices;
}

function atLeast(name: keyof WhenOptions, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  const advice =
    name === "windowTokens" && value > 0
      ? `give a threshold below the window, not ${least}`
      : `give a whole number of at least ${least}${least > 1 ? ", the threshold" : ""}`;
  throw new PalimpsestError("invalid_options", `${name} is ${inWords(value)}: ${advice}.`);
}
