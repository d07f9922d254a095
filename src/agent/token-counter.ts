/**
 * A session's token counter, which is the estimate or a guarded counter of the caller. This is the one module that knows the estimate. All
 * other code asks the session (`SettingsTable.counterOf`).
 *
 * Safe because a bad count never loses a message. Where the counter throws or returns no number, such as a promise, the estimate replaces
 * it, and one warning is logged.
 */
import { PalimpsestError } from "../errors.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";

/** Counters whose failure was already logged. A session manager gives one counter to each of its sessions. */
const reported = new WeakSet<CountTokens>();

/** For a session without a counter of its own. */
export const ESTIMATE: CountTokens = estimateTokens;

/**
 * Returns a counter that answers a whole number for every text and never throws. Throws `invalid_options` for a value that is no function.
 */
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
 * The budget to name in a prompt. A model counts in its own tokens, which are nearer to the estimate than to a counter that counts more. With
 * such a counter a smaller budget is named, so that the answer fits the first time. Never more than the budget. `weigh` counts the source
 * of the answer.
 */
export function budgetInModelTokens(
  counter: CountTokens,
  tokens: number,
  weigh: (count: CountTokens) => number,
): number {
  if (counter === ESTIMATE) return tokens;
  const [estimated, counted] = [weigh(ESTIMATE), weigh(counter)];
  return counted <= estimated ? tokens : Math.max(1, Math.floor((tokens * estimated) / counted));
}

function count(counter: CountTokens, text: string): number | { why: string } {
  try {
    const counted: unknown = counter(text);
    if (typeof counted === "number" && Number.isFinite(counted) && counted >= 0) return Math.ceil(counted);
    // A promise comes too late, and its rejection must not end the object.
    if (counted instanceof Promise) counted.catch(() => undefined);
    return { why: counted instanceof Promise ? "it answers with a promise" : `it answered ${String(counted)}` };
  } catch (error) {
    return { why: `it threw ${String(error)}` };
  }
}
