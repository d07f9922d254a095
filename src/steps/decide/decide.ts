/**
 * What makes a view due, and why one waits. The trigger reads the session and asks in order (src/agent/runs/trigger.ts).
 *
 * A threshold is a ceiling, and a view over it is due. So is a view with more messages than a session allows, and with `auto` a view whose
 * rent is due.
 *
 * A budget is checked before a run asks a model and never in the middle, so runs under way may exceed it.
 */
import { keptBySize, sumsBefore, tokensBetween } from "../plan/cut.ts";
import type { OutlineRow } from "../plan/outline.ts";
import type { Policy } from "../plan/policy.ts";
import { checkFields, checkWhole } from "../../known-fields.ts";
import { inWords, PalimpsestError } from "../../errors.ts";
import { DEFAULT_PRICES, HARD_LINE } from "../../limits.ts";

/** The reasons for doing nothing. A closed set, because callers switch on it. */
export type NothingReason =
  | "empty"
  | "under-threshold"
  | "too-short"
  | "too-small"
  | "window-too-small"
  | "no-gap"
  | "no-overlay"
  | "not-covered";

/** Reasons of cost and patience. They do not count over the hard line, or when a person insists. */
export type SoftReason = "cooling-down" | "breaker-open" | "budget-spent";

/** Why nothing was compacted, or will be. */
export type WhyNot =
  | NothingReason
  | SoftReason
  | "no-gap"
  | "no-overlay"
  | "would-not-shrink"
  | "session-ended"
  | "run-in-flight"
  | "approval-pending"
  | "up-to-date"
  | "not-due";

/** Why a session is not compacted now. */
export interface Waiting {
  /** The reason as a code. */
  readonly reason: WhyNot;
  /** The finding, with its numbers. */
  readonly detail: string;
  /** The advice for a person. */
  readonly advice: string;
}

const ADVICE = {
  empty: "Append a message first.",
  "under-threshold": "Nothing to do. To compact earlier, lower the threshold, or call compact.",
  "not-due": "Nothing to do: to wait costs less. To compact all the same, call compact.",
  "too-short": "Lower head or tail, so that something lies between head and tail.",
  "too-small": "Wait for more messages, or call compact.",
  "window-too-small": "Give the summariser a larger window (PALIMPSEST_MODEL_WINDOW says what it has).",
  "no-gap": "Nothing to do: an edit under an overlay leaves a gap, and there is none.",
  "not-covered": "Wait for more of the conversation to be covered.",
  "no-overlay": "Compact first: only what is under an overlay can be made anew.",
  "would-not-shrink": "Lower share, or wait for more messages: the summary was no smaller than its source.",
  "cooling-down": "Look at why the last run failed (runs), and wait, or call compact.",
  "breaker-open":
    "Restore the summariser and wait for the next probe, or call compact with ignoreBudget: true to ask it now.",
  "budget-spent": "Raise the budget in compactAfter, or call compact with ignoreBudget: true.",
  "session-ended": "Go on in the session that continues it (newestSession).",
  "run-in-flight": "Wait for the run that is at work on this branch, or cancel it.",
  "up-to-date": "Nothing to do: everything is covered already.",
  "approval-pending": "Approve or reject the summary that waits for it.",
} as const satisfies Record<WhyNot, string>;

/** A reason with its finding and advice. */
export function waitFor(reason: WhyNot, detail: string): Waiting {
  return { reason, detail, advice: ADVICE[reason] };
}

const SOFT: ReadonlySet<string> = new Set<SoftReason>(["cooling-down", "breaker-open", "budget-spent"]);

export function isSoft(reason: string): reason is SoftReason {
  return SOFT.has(reason);
}

/** Tokens in and out of the summariser. Null means without bound. */
export interface Budget {
  /** Tokens for one session, over its whole life. */
  readonly sessionTokens: number | null;
  /** Tokens for all sessions of the agent on one day (UTC). */
  readonly dayTokens: number | null;
}

export type BudgetOptions = { readonly [Key in keyof Budget]?: Budget[Key] | undefined };

/** The tokens spent by the session so far, and by every session today. */
export interface Spend {
  /** Tokens of this session. */
  readonly sessionTokens: number;
  /** Tokens of all sessions of the agent today (UTC). */
  readonly dayTokens: number;
}

/** Throws `invalid_options`. */
export function resolveBudget(options: BudgetOptions = {}): Budget {
  checkFields("budget", options, { sessionTokens: true, dayTokens: true });
  const { sessionTokens = null, dayTokens = null } = options;
  for (const [name, value] of Object.entries({ sessionTokens, dayTokens })) {
    if (value !== null) checkWhole(`budget.${name}`, value, 0);
  }
  return { sessionTokens, dayTokens };
}

/** Explains why no more may be spent now, with advice. Null while some budget is left. */
export function explainSpent(budget: Budget, spend: Spend): string | null {
  if (budget.sessionTokens !== null && spend.sessionTokens >= budget.sessionTokens) {
    return `This session's summaries cost ${spend.sessionTokens} of ${budget.sessionTokens} tokens: raise budget.sessionTokens.`;
  }
  if (budget.dayTokens !== null && spend.dayTokens >= budget.dayTokens) {
    return `This agent's summaries cost ${spend.dayTokens} of ${budget.dayTokens} tokens today (UTC): raise budget.dayTokens, or wait for tomorrow.`;
  }
  return null;
}

const DAY_MS = 86_400_000;

/** The UTC day of a time in epoch ms, counted from 1970. */
export function utcDay(now: number): number {
  return Math.floor(now / DAY_MS);
}

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
  /** With `ceiling`, a view over the threshold is due. With `rent`, a view is also due once its rent is ({@link weighRent}). */
  readonly rule: "ceiling" | "rent";
  /** A view larger than this many tokens is compacted at any cost: the window if it was given, else one and a half thresholds. */
  readonly hardTokens: number;
  /** The context window of the conversation's own model, in tokens. Null when it was not given. */
  readonly windowTokens: number | null;
  readonly budget: Budget;
  readonly prices: Prices;
}

export interface WhenOptions {
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
  if (windowTokens !== null && !(Number.isSafeInteger(windowTokens) && windowTokens >= thresholdTokens)) {
    const advice =
      windowTokens > 0
        ? `give a threshold below the window, not ${thresholdTokens}`
        : `give a whole number of at least ${thresholdTokens}, the threshold`;
    throw new PalimpsestError("invalid_options", `windowTokens is ${inWords(windowTokens)}: ${advice}.`);
  }
  return {
    rule: "ceiling",
    hardTokens: windowTokens ?? Math.ceil(thresholdTokens * HARD_LINE),
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

/** A step of a view: a model's answer with its tool outputs, a message of a user, or a summary. */
export interface ViewStep {
  /** Tokens as the step is shown. */
  readonly tokens: number;
  /** Who wrote it, or null for a summary. Where it is the model, a request was sent that ended before this step. */
  readonly role: OutlineRow["role"] | null;
  /** A number that identifies the message, the same for all of its steps. */
  readonly message: number;
}

/** A view for the rule, oldest step first. */
export interface RentedView {
  readonly steps: readonly ViewStep[];
  /** The first step after the last summary and the part that it left in view. */
  readonly sinceSummary: number;
  /** The first step behind the last summary. */
  readonly fresh: number;
}

export interface RentTerms {
  readonly prices: Prices;
  /** Tokens kept at the start and at the end of a summarised view, and tokens of the summary with its names. */
  readonly headTokens: number;
  readonly tailTokens: number;
  readonly summaryTokens: number;
  /** Tokens that stay beyond the end now, because the newest messages are larger. Default 0. */
  readonly overhangTokens?: number;
  /** Tokens of one answer of the summariser, and of its prompt besides the conversation. */
  readonly answerTokens: number;
  readonly promptTokens: number;
  /** The share of its price that a rent must reach. Default {@link PAID_SHARE}. */
  readonly alpha?: number;
}

/** The cost so far of not summarising, and the price of a summary now. */
export interface Rent {
  /** The unit is a token of uncached input, as in prices. */
  readonly paid: number;
  /** What a summary would cost now, in the same unit. */
  readonly price: number;
  /** Tokens by which every later request would be shorter. */
  readonly freedTokens: number;
  /** Whether enough was paid for the summary to be made now. */
  readonly isDue: boolean;
}

/**
 * A summary waits until its rent is this share of its price. A conversation may end soon after it, and then it is not paid back.
 * docs/decisions/0018 says how it was chosen.
 */
export const PAID_SHARE = 1.5;

/** Tokens that a summary would leave at both ends of a view by the budgets of its plan, and tokens behind the last summary that it would hide. */
export function weighEnds(
  { steps, fresh }: Pick<RentedView, "steps" | "fresh">,
  policy: Policy,
): { readonly headTokens: number; readonly tailTokens: number; readonly hidden: number } {
  const starts = steps.flatMap(({ message, role }, at) =>
    message === steps[at - 1]?.message && role === steps[at - 1]?.role ? [] : [at],
  );
  const rows = starts.map((at) => {
    const role = steps[at]?.role ?? null;
    return { kind: role === null ? ("overlay" as const) : ("message" as const), role: role ?? "assistant" };
  });
  const sizes = { rows, rowStarts: [...starts, steps.length], before: sumsBefore(steps, ({ tokens }) => tokens) };
  const { headTokens, tailAt } = keptBySize(sizes, policy);
  return {
    headTokens,
    tailTokens: tokensBetween(sizes, tailAt, steps.length),
    hidden: Math.max(0, tokensBetween(sizes, fresh, tailAt)),
  };
}

/** Reads each step once. */
export function weighRent({ steps, sinceSummary }: Omit<RentedView, "fresh">, terms: RentTerms): Rent {
  const { prices, headTokens, tailTokens, summaryTokens, overhangTokens = 0, alpha = PAID_SHARE } = terms;
  const kept = headTokens + tailTokens + summaryTokens;
  let [tokens, paid] = [0, 0];
  for (const [at, step] of steps.entries()) {
    if (step.role === "assistant" && at >= sinceSummary) paid += prices.cacheRead * Math.max(0, tokens - kept);
    tokens += step.tokens;
  }
  const premium = Math.max(0, prices.cacheWrite - prices.cacheRead);
  const price = premium * (tailTokens + overhangTokens + summaryTokens) + summariserPrice(tokens, terms);
  const freedTokens = Math.max(0, tokens - kept - overhangTokens);
  return { paid, price, freedTokens, isDue: freedTokens >= 1 && paid >= alpha * price && paid > 0 };
}

/** The summariser's price for reading the replaced part and writing its answer. */
function summariserPrice(tokens: number, { prices, ...terms }: RentTerms): number {
  const read = Math.max(0, tokens - terms.headTokens - terms.tailTokens);
  return prices.input * (read + terms.promptTokens) + prices.output * terms.answerTokens;
}

/** What makes a view due: its tokens, its messages, or its rent. */
export type Cause = "threshold" | "messages" | "rent";

/** A view as it is judged. */
export interface JudgedSize {
  /** The provider's predicted count for the view. */
  readonly tokens: number;
  /** Elements of the view: each visible message, and each summary, counts as one. */
  readonly messages: number;
  /** Null where only the bounds count. */
  readonly rent?: Rent | null;
}

type Bounds = Pick<Policy, "thresholdTokens" | "maxMessages">;

/** `idle` means that nothing starts by itself and nothing waits, because there is no policy. */
export type Decision =
  | { readonly kind: "start"; readonly trigger: Cause }
  | { readonly kind: "wait"; readonly waiting: Waiting }
  | { readonly kind: "idle" };

/**
 * What makes a view due, before anything else is asked. Empty while nothing does. The trigger, plans and notes ask nothing else. A view over
 * its threshold whose rent is not due is due by its size alone.
 */
export function judge({ tokens, messages, rent }: JudgedSize, { thresholdTokens, maxMessages }: Bounds): Cause[] {
  const due: Cause[] = [];
  if (rent?.isDue === true) due.push("rent");
  else if (tokens > thresholdTokens) due.push("threshold");
  if (maxMessages !== undefined && messages > maxMessages) due.push("messages");
  return due;
}

export function wait(waiting: Waiting): Decision {
  return { kind: "wait", waiting };
}

/** Says how far a view is from being due. */
export function notDue({ tokens, messages, rent }: JudgedSize, { thresholdTokens, maxMessages }: Bounds): Waiting {
  if (rent == null) {
    const size =
      maxMessages === undefined
        ? `The view is ${tokens} tokens; the threshold is ${thresholdTokens}.`
        : `The view is ${tokens} tokens in ${messages} messages; the bounds are ${thresholdTokens} tokens and ${maxMessages} messages.`;
    return waitFor("under-threshold", size);
  }
  const { paid, price } = rent;
  const so = `Carrying it has cost ${Math.round(paid)} of the ${Math.round(PAID_SHARE * price)} at which a summary is due`;
  return waitFor("not-due", `${so}, and the view is ${tokens} tokens; the ceiling is ${thresholdTokens}.`);
}
