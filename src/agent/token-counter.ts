/**
 * A token counter of the caller's, made sound.
 *
 * Safe because a message is never lost for a number: where the counter throws or answers none (one of another shape, one
 * that answers later), the estimate stands in, and it is said once.
 */
import { PalimpsestError } from "../errors.ts";
import type { CountTokens } from "../steps/measure.ts";
import { estimateTokens } from "../steps/tokens.ts";

/** The counters that were said to fail: a session manager gives one to each of its sessions. */
const reported = new WeakSet<CountTokens>();

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
