/**
 * The rent rule, which decides when to summarise a view by the cost so far of carrying removable content.
 *
 * Arithmetic over the steps of a view. A rent rises with each request. It is paid for reading messages that a summary could replace. A
 * summary is due once its rent reaches one and a half times its price. As in the ski rental problem, the total is then at most some two and
 * a half times the cost of deciding with knowledge of the future. It knows tokens and relative prices, but no currency, row or clock.
 */
import type { Prices } from "./when.ts";

/** A step of a view: a model's answer with its tool outputs, a message of a user, or a summary. */
export interface ViewStep {
  /** Tokens as the step is shown. */
  readonly tokens: number;
  /** Whether a model answered here. Then a request was sent that ended before this step. */
  readonly isRequest: boolean;
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

/** Tokens of the messages that a summary would keep at the start, as far as their budget reaches. */
export function headTokensOf(
  steps: readonly ViewStep[],
  { protectHead, headTokenBudget }: { readonly protectHead: number; readonly headTokenBudget: number },
): number {
  const messages = new Set<number>();
  let head = 0;
  for (const { message, tokens } of steps) {
    messages.add(message);
    if (messages.size > protectHead || head + tokens > headTokenBudget) break;
    head += tokens;
  }
  return head;
}

/**
 * Tokens that a summary would leave at the end of a view, and tokens behind the last summary that it would hide, as in plan/cut.ts without
 * its moves to a better place. Of the newest messages the last step stays at any size.
 */
export function weighTail(
  { steps, fresh }: Pick<RentedView, "steps" | "fresh">,
  { tailTokenBudget, minTailMessages }: { readonly tailTokenBudget: number; readonly minTailMessages: number },
): { readonly kept: number; readonly hidden: number } {
  const messages = new Set<number>();
  let kept = 0;
  const last = steps.findLastIndex(({ message, tokens }, at) => {
    messages.add(message);
    const stays = message !== steps[at + 1]?.message && messages.size <= minTailMessages;
    if (kept + tokens > tailTokenBudget && !stays) return true;
    kept += tokens;
    return false;
  });
  return { kept, hidden: sum(steps.slice(fresh, last + 1)) };
}

/** Reads each step once. */
export function weighRent({ steps, sinceSummary }: Omit<RentedView, "fresh">, terms: RentTerms): Rent {
  const { prices, headTokens, tailTokens, summaryTokens, overhangTokens = 0, alpha = PAID_SHARE } = terms;
  const kept = headTokens + tailTokens + summaryTokens;
  let [tokens, paid] = [0, 0];
  for (const [at, step] of steps.entries()) {
    if (step.isRequest && at >= sinceSummary) paid += prices.cacheRead * Math.max(0, tokens - kept);
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

function sum(steps: readonly ViewStep[]): number {
  return steps.reduce((all, { tokens }) => all + tokens, 0);
}
