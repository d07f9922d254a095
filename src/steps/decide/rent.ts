/**
 * The rent rule: when to shorten a view, told by what it has cost so far to carry what could have gone.
 *
 * Job: arithmetic over the steps of a view. Two rents rise with each request: what was paid for reading tool outputs that stubs
 * could stand for, and for reading messages that a summary could stand for. An edit is due once its rent has reached its
 * price: as with skis that one rents until the rents have paid for a pair, it is then at most twice as dear as knowing the
 * future would have been. Boundary: knows tokens and prices of one another, no currency, no row and no clock.
 */
import type { Prices } from "./break-even.ts";

/** A step of a view: a model's answer with its tool outputs, a message of a user, a summary. */
export interface ViewStep {
  /** As it is shown. */
  readonly tokens: number;
  /** Of them, those that stubs would take away; 0 where there is nothing to mask, or stubs stand already. */
  readonly maskable: number;
  /** Whether a model answered here: a request was sent that ended before it. */
  readonly isRequest: boolean;
  /** Tells its message from others: a number, the same for all of a message's steps. */
  readonly message: number;
}

/** A view as the rule sees it, oldest step first. */
export interface RentedView {
  readonly steps: readonly ViewStep[];
  /** The first step that came after the last mask or summary, and after the last summary. */
  readonly sinceEdit: number;
  readonly sinceSummary: number;
}

export interface RentTerms {
  readonly prices: Prices;
  /** Tokens at the end of a view that are never masked. */
  readonly protectTokens: number;
  /** What stays at the start and at the end of a view that is summarised, and what the summary with its names would take. */
  readonly headTokens: number;
  readonly tailTokens: number;
  readonly summaryTokens: number;
  /** What one answer of the summariser takes, and what it is told besides the conversation. */
  readonly answerTokens: number;
  readonly promptTokens: number;
  /** The share of its price that a rent must reach. Default 1. */
  readonly alpha?: number;
}

/** One kind of edit: what was paid for going without it, and what it would cost now. */
export interface Rent {
  /** In tokens of uncached input, as prices are. */
  readonly paid: number;
  readonly price: number;
  /** Tokens that every later request would be shorter by. */
  readonly freedTokens: number;
  readonly isDue: boolean;
}

export interface Rents {
  readonly mask: Rent;
  readonly summary: Rent;
  /** The steps that an edit would mask: all that are maskable from `from` to `to`, both included; null where there are none. */
  readonly masks: { readonly from: number; readonly to: number } | null;
}

/** Tokens of an older output that a summariser is shown more of than a stub says: it reads a thousand characters of each. */
const SHOWN_OF_AN_OUTPUT = 230;

/** Tokens of the messages that a summary would leave at the start, as far as their budget reaches. */
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

/** Reads each step a fixed number of times. */
export function weighRents({ steps, sinceEdit, sinceSummary }: RentedView, terms: RentTerms): Rents {
  const { prices, protectTokens, alpha = 1 } = terms;
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
  const summaryFreed = Math.max(0, tokens - kept);
  const price = premium * (terms.tailTokens + terms.summaryTokens) + summariserPrice(steps, tokens, terms);
  return {
    masks,
    mask: rent({ paid: maskPaid, price: premium * rewritten, freedTokens: freed, alpha }),
    summary: rent({ paid: summaryPaid, price, freedTokens: summaryFreed, alpha }),
  };
}

/** What the summariser would be paid: for reading what a summary would take the place of, and for its answer. */
function summariserPrice(steps: readonly ViewStep[], tokens: number, terms: RentTerms): number {
  const { prices, headTokens, tailTokens, promptTokens, answerTokens } = terms;
  const outputs = steps.reduce((all, { maskable }) => all + Math.max(0, maskable - SHOWN_OF_AN_OUTPUT), 0);
  const read = Math.max(0, tokens - outputs - headTokens - tailTokens);
  return prices.input * (read + promptTokens) + prices.output * answerTokens;
}

function rent({ alpha, ...rest }: Omit<Rent, "isDue"> & { readonly alpha: number }): Rent {
  return { ...rest, isDue: rest.freedTokens > 0 && rest.paid >= alpha * rest.price && rest.paid > 0 };
}

function sum(steps: readonly ViewStep[]): number {
  return steps.reduce((all, { tokens }) => all + tokens, 0);
}

/** What is older than the protected end of a view, for views that only grow. */
class OlderSteps {
  readonly #steps: readonly ViewStep[];
  readonly #protect: number;
  /** Steps before this one are older than what is protected; behind it stand so many tokens. */
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

  /** Tokens that masking would take from the view that ends before a step. Asked for with steps that rise. */
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
