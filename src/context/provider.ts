/**
 * The kinds of provider behind a block, told apart by their methods, and the calls of one.
 *
 * The shapes are those of the Agents SDK, so its providers work unchanged. A provider is the caller's code over a network. It may throw,
 * never answer, or answer with something other than text. Each of these becomes one `provider_failed` within a known time, and a model can
 * be shown the message.
 */
import { PalimpsestError } from "../errors.ts";

/** A text that the prompt shows. `null` means that there is none yet. */
export interface ContextProvider {
  get(): Promise<string | null>;
  /** Called once before any other method, with the block's label. The label is unique to the session where needed. */
  init?(label: string): void;
}

/** One text that the model may rewrite. */
export interface WritableContextProvider extends ContextProvider {
  set(content: string): Promise<void>;
}

/** Keyed entries that are found by words. The prompt only counts or lists them. */
export interface SearchProvider extends ContextProvider {
  /** Returns the matches as one text, best first, or `null` when nothing matches. */
  search(query: string): Promise<string | null>;
  set?(key: string, content: string): Promise<void>;
}

/** Keyed texts that the prompt lists with a description each. The model reads them whole on request. */
export interface SkillProvider extends ContextProvider {
  /** Returns `null` when there is no such key. */
  load(key: string): Promise<string | null>;
  set?(key: string, content: string, description?: string): Promise<void>;
}

export type BlockProvider = ContextProvider | WritableContextProvider | SearchProvider | SkillProvider;

export type BlockKind = "readonly" | "writable" | "searchable" | "loadable";

/** The abilities of a provider. A `keyed` one is written entry by entry, never as one text. */
export interface Shape {
  readonly kind: BlockKind;
  readonly writable: boolean;
  readonly keyed: boolean;
  readonly searchable: boolean;
}

/** Derives the shape. Throws `invalid_options` for a value that is no provider. */
export function providerShapeOf(provider: BlockProvider): Shape {
  if (!has(provider, "get")) {
    throw new PalimpsestError("invalid_options", "A context provider is an object with at least a get() method.");
  }
  const writable = has(provider, "set");
  const searchable = has(provider, "search");
  if (has(provider, "load")) return { kind: "loadable", writable, keyed: true, searchable };
  if (searchable) return { kind: "searchable", writable, keyed: true, searchable };
  return { kind: writable ? "writable" : "readonly", writable, keyed: false, searchable };
}

function has(provider: unknown, method: string): boolean {
  return typeof provider === "object" && provider !== null && typeof Reflect.get(provider, method) === "function";
}

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
