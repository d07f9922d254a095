/**
 * Calls a provider and turns every failure into a typed error.
 *
 * A provider is the caller's code over a network. It may throw, never answer, or answer with something other than text. Each of these
 * becomes one `provider_failed` within a known time, and a model can be shown the message.
 */
import { PalimpsestError } from "../errors.ts";

export interface ProviderCall<T> {
  readonly label: string;
  /** One of "read", "write", "search" and "load", for the message. */
  readonly verb: string;
  readonly limitMs: number;
  readonly call: () => Promise<T>;
}

/** Returns the provider's text, or null when it has none. Throws `provider_failed`. */
export async function askForText(ask: ProviderCall<string | null>): Promise<string | null> {
  const answer: unknown = await askProvider(ask);
  if (answer === null) return null;
  // Storage would change text that is not well-formed.
  if (typeof answer === "string") return answer.toWellFormed();
  throw failure(
    ask,
    `it answered with ${answer === undefined ? "nothing" : `a value of type ${typeof answer}`}, not text`,
  );
}

/** Calls the provider in the same turn of the event loop. Throws `provider_failed`. */
export async function askProvider<T>(ask: ProviderCall<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const advice = ask.verb === "write" ? ". The write may still happen: read the block before you write again" : "";
    timer = setTimeout(() => reject(failure(ask, `no answer within ${ask.limitMs} ms${advice}`)), ask.limitMs);
  });
  try {
    return await Promise.race([ask.call(), late]);
  } catch (error) {
    if (error instanceof PalimpsestError) throw error;
    throw failure(ask, error instanceof Error ? error.message : String(error), error);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns undefined and calls `report` when a provider failed. It is for callers that can continue without the answer. */
export async function orReport<T>(
  work: () => Promise<T>,
  report: (error: PalimpsestError) => void,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PalimpsestError) || error.code !== "provider_failed") throw error;
    report(error);
    return undefined;
  }
}

function failure(ask: Pick<ProviderCall<unknown>, "label" | "verb">, why: string, cause?: unknown): PalimpsestError {
  const message = `Block "${ask.label}" could not be reached to ${ask.verb}: ${why}. Nothing else was changed. Go on without it, or try again later.`;
  return new PalimpsestError("provider_failed", message, { cause });
}
