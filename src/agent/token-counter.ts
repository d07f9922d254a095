/**
 * What a session counts tokens with: the estimate, or a counter of the caller's, made sound. The one place that knows the
 * estimate: whoever counts asks the session (`Core.counterOf`).
 *
 * Safe because a message is never lost for a number: where the counter throws or answers none (one of another shape, one
 * that answers later), the estimate stands in, and it is said once.
 */
import { PalimpsestError } from "../errors.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";

/** The counters that were said to fail: a session manager gives one to each of its sessions. */
const reported = new WeakSet<CountTokens>();

/** Of a session that brings none. */
export const ESTIMATE: CountTokens = estimateTokens;

/** Answers a whole number for every text, and never throws. Throws `invalid_options` itself for what is no function. */
export function guardCounter(counter: CountTokens): CountTokens {
  if (typeof counter !== "function") {
    throw new PalimpsestError(
      "invalid_options",
      "tokenCounter is a function (text) => number. Leave it out for the estimate.",
    );
  }
  return (text) => {
    const counted = count(counter, text);
    if (typeof counted === "number") return counted;
    if (!reported.has(counter)) {
      console.warn(`A tokenCounter failed: ${counted.why}. Give (text) => number; until then, the estimate stands in.`);
    }
    reported.add(counter);
    return estimateTokens(text);
  };
}

/**
 * A budget as a model is told it: in its own tokens, which nobody here counts. They are nearer to the estimate than to a counter
 * that counts more, so of such a one it is told less, and its answer fits the first time. Never more than the budget.
 * `weigh` counts what the answer is to be about.
 */
export function tellBudget(counter: CountTokens, tokens: number, weigh: (count: CountTokens) => number): number {
  if (counter === ESTIMATE) return tokens;
  const [estimated, counted] = [weigh(ESTIMATE), weigh(counter)];
  return counted <= estimated ? tokens : Math.max(1, Math.floor((tokens * estimated) / counted));
}

function count(counter: CountTokens, text: string): number | { why: string } {
  try {
    const counted: unknown = counter(text);
    if (typeof counted === "number" && Number.isFinite(counted) && counted >= 0) return Math.ceil(counted);
    // What comes later is too late; that it failed must not end the object.
    if (counted instanceof Promise) counted.catch(() => undefined);
    return { why: counted instanceof Promise ? "it answers with a promise" : `it answered ${String(counted)}` };
  } catch (error) {
    return { why: `it threw ${String(error)}` };
  }
}
