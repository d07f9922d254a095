/**
 * The kinds of provider behind a block, told apart by their methods.
 *
 * It has interfaces and checks on them, and calls nothing. The shapes are those of the Agents SDK, so its providers work unchanged.
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
