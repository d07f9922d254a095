/**
 * What can stand behind a block, told apart by the methods that it has.
 *
 * Boundary: interfaces and questions about them; nothing is called here. The shapes are those of the Agents SDK, so a
 * provider that was made for it goes in unchanged.
 */
import { PalimpsestError } from "../errors.ts";

/** A text that the prompt shows. `null` means: none yet. */
export interface ContextProvider {
  get(): Promise<string | null>;
  /** Told once, before anything else is called: the block's label, made unique to the session where that matters. */
  init?(label: string): void;
}

/** One text that the model may rewrite. */
export interface WritableContextProvider extends ContextProvider {
  set(content: string): Promise<void>;
}

/** Keyed entries that the prompt only counts or lists, found by words. */
export interface SearchProvider extends ContextProvider {
  /** The matches as one text, best first; `null` when nothing matches. */
  search(query: string): Promise<string | null>;
  set?(key: string, content: string): Promise<void>;
}

/** Keyed texts that the prompt lists with a description each, read whole when the model asks. */
export interface SkillProvider extends ContextProvider {
  /** `null` when there is no such key. */
  load(key: string): Promise<string | null>;
  set?(key: string, content: string, description?: string): Promise<void>;
}

export type BlockProvider = ContextProvider | WritableContextProvider | SearchProvider | SkillProvider;

export type BlockKind = "readonly" | "writable" | "searchable" | "loadable";

/** What a provider can do. `keyed`: it is written entry by entry, never as one text. */
export interface Shape {
  readonly kind: BlockKind;
  readonly writable: boolean;
  readonly keyed: boolean;
  readonly searchable: boolean;
}

/** Throws `invalid_options` for what is no provider at all. */
export function shapeOf(provider: BlockProvider): Shape {
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
