/**
 * The rent rule, which decides when to shorten a view by the cost so far of carrying removable content.
 *
 * Arithmetic over the steps of a view. Two rents rise with each request. One is paid for reading tool outputs that
 * stubs could replace, and the other for reading messages that a summary could replace. An edit is due once its rent
 * reaches one and a half times its price. A mask must also free so many tokens. As in the ski rental problem, the total is then at most
 * some two and a half times the cost of deciding with knowledge of the future. It knows tokens and relative prices, but no currency, row or
 * clock.
 */
import type { Prices } from "./when.ts";

/** A step of a view: a model's answer with its tool outputs, a message of a user, or a summary. */
export interface ViewStep {
  /** Tokens as the step is shown. */
  readonly tokens: number;
  /** The part of them that stubs would remove. 0 where there is nothing to mask, or where stubs are already. */
  readonly maskable: number;
  /** Whether a model answered here. Then a request was sent that ended before this step. */
  readonly isRequest: boolean;
  /** A number that identifies the message, the same for all of its steps. */
  readonly message: number;
}

/** A view for the rule, oldest step first. */
export interface RentedView {
  readonly steps: readonly ViewStep[];
  /** The first step after the last mask or summary, and the first step after the last summary. */
  readonly sinceEdit: number;
  readonly sinceSummary: number;
  /** The first step behind the last summary. */
  readonly fresh: number;
}

export interface RentTerms {
  readonly prices: Prices;
  /** Tokens at the end of a view that are never masked. */
  readonly protectTokens: number;
  /** Tokens that a mask must free. */
  readonly leastTokens: number;
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

/** One kind of edit, with the cost so far of not making it and its price now. */
export interface Rent {
  /** The unit is a token of uncached input, as in prices. */
  readonly paid: number;
  /** What the edit would cost now, in the same unit. */
  readonly price: number;
  /** Tokens by which every later request would be shorter. */
  readonly freedTokens: number;
  /** Whether enough was paid for the edit to be made now. */
  readonly isDue: boolean;
}

/** The two edits that `auto` weighs. */
export interface Rents {
  /** Replacing older tool outputs by stubs. */
  readonly mask: Rent;
  /** Replacing older messages by a summary. */
  readonly summary: Rent;
  /**
   * The steps that an edit would mask, which are all maskable ones from `from` to `to`, both included. Null where there
   * are none.
   */
  readonly masks: { readonly from: number; readonly to: number } | null;
}

/**
 * Tokens of an older output that a summariser is shown beyond the size of a stub. It reads a thousand characters of
 * each output.
 */
const SHOWN_OF_AN_OUTPUT = 230;

/**
 * An edit waits until its rent is this share of its price. A conversation may end soon after an edit, and then it is not
 * paid back. Where edits are cheap, it also keeps them from hiding more than they save. docs/decisions/0018 says how it
 * was chosen.
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

/** Computes both rents. Reads each step a fixed number of times. */
export function weighRents({ steps, sinceEdit, sinceSummary }: Omit<RentedView, "fresh">, terms: RentTerms): Rents {
  const { prices, protectTokens, overhangTokens = 0, alpha = PAID_SHARE } = terms;
  const kept = terms.headTokens + terms.tailTokens + terms.summaryTokens;
  const older = new OlderSteps(steps, protectTokens);
  let [tokens, maskPaid, summaryPaid] = [0, 0, 0];
  for (const [at, step] of steps.entries()) {
    if (step.isRequest && at >= sinceSummary) {
      summaryPaid += prices.cacheRead * Math.max(0, tokens - kept);
      if (at >= sinceEdit) maskPaid += prices.cacheRead * older.maskableBefore(at);
    }
    tokens += step.tokens;
  }
  const freed = older.maskableBefore(steps.length);
  const masks = older.range();
  const rewritten = masks === null ? 0 : sum(steps.slice(masks.from)) - freed;
  const premium = Math.max(0, prices.cacheWrite - prices.cacheRead);
  const summaryFreed = Math.max(0, tokens - kept - overhangTokens);
  const writtenTokens = terms.tailTokens + overhangTokens + terms.summaryTokens;
  const price = premium * writtenTokens + summariserPrice(steps, tokens, terms);
  return {
    masks,
    mask: rent({ paid: maskPaid, price: premium * rewritten, freedTokens: freed }, alpha, terms.leastTokens),
    summary: rent({ paid: summaryPaid, price, freedTokens: summaryFreed }, alpha),
  };
}

/** The rents of a view in which nothing may be masked. */
export function withoutMasks({ summary }: Rents): Rents {
  return { summary, masks: null, mask: { paid: 0, price: 0, freedTokens: 0, isDue: false } };
}

/** The summariser's price for reading the replaced part and writing its answer. */
function summariserPrice(steps: readonly ViewStep[], tokens: number, terms: RentTerms): number {
  const { prices, headTokens, tailTokens, promptTokens, answerTokens } = terms;
  const outputs = steps.reduce((all, { maskable }) => all + Math.max(0, maskable - SHOWN_OF_AN_OUTPUT), 0);
  const read = Math.max(0, tokens - outputs - headTokens - tailTokens);
  return prices.input * (read + promptTokens) + prices.output * answerTokens;
}

function rent(rent: Omit<Rent, "isDue">, share: number, leastTokens = 1): Rent {
  const { paid, price, freedTokens } = rent;
  return { ...rent, isDue: freedTokens >= Math.max(1, leastTokens) && paid >= share * price && paid > 0 };
}

function sum(steps: readonly ViewStep[]): number {
  return steps.reduce((all, { tokens }) => all + tokens, 0);
}

/** The steps before the protected end of a view, for views that only grow. */
class OlderSteps {
  readonly #steps: readonly ViewStep[];
  readonly #protect: number;
  /** Steps before `#edge` are older than the protected end. `#behind` has the tokens of the steps from there on. */
  #edge = 0;
  #behind = 0;
  #end = 0;
  #maskable = 0;
  #first: number | null = null;
  #last: number | null = null;

  constructor(steps: readonly ViewStep[], protectTokens: number) {
    this.#steps = steps;
    this.#protect = protectTokens;
  }

  /** Tokens that masking would remove from the view that ends before a step. Call it with rising steps. */
  maskableBefore(end: number): number {
    for (; this.#end < end; this.#end++) this.#behind += this.#steps[this.#end]?.tokens ?? 0;
    for (let next = this.#steps[this.#edge]; next !== undefined; next = this.#steps[this.#edge]) {
      if (this.#edge >= this.#end || this.#behind - next.tokens < this.#protect) break;
      this.#behind -= next.tokens;
      this.#maskable += next.maskable;
      if (next.maskable > 0) {
        this.#first ??= this.#edge;
        this.#last = this.#edge;
      }
      this.#edge++;
    }
    return this.#maskable;
  }

  range(): Rents["masks"] {
    return this.#first === null || this.#last === null ? null : { from: this.#first, to: this.#last };
  }
}
