/**
 * The places that keep a frozen prompt, which are memory, SQLite and a provider of the caller's.
 *
 * `null` means that nothing is frozen. An empty prompt is a prompt.
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_PROMPT_BYTES } from "../limits.ts";
import { askForText, askProvider } from "./ask.ts";
import { makeProvider } from "./declared.ts";
import type { WritableContextProvider } from "./provider.ts";
import { claim, labelFor, type BlockScope } from "./scope.ts";
import type { ContextStatements } from "./statements.ts";

export interface FrozenPrompt {
  read(): Promise<string | null>;
  write(prompt: string): Promise<void>;
  /** Makes later reads return null. The caller deletes the rows. */
  forget(): void;
}

/** Keeps the prompt until the object is evicted. */
export function frozenInMemory(): FrozenPrompt {
  let frozen: string | null = null;
  return {
    read: async () => frozen,
    write: async (prompt) => void (frozen = prompt),
    forget: () => void (frozen = null),
  };
}

/** Keeps one row per session. `write` throws `block_full` when the prompt is too large for one row. */
export function frozenInSqlite(statements: ContextStatements, scope: string): FrozenPrompt {
  return {
    read: async () => statements.prompt(scope),
    write: async (prompt) => {
      const bytes = new TextEncoder().encode(prompt).length;
      if (bytes > MAX_PROMPT_BYTES) {
        throw new PalimpsestError(
          "block_full",
          `The system prompt takes ${bytes} bytes, and at most ${MAX_PROMPT_BYTES} can be kept. Give the largest blocks a maxTokens.`,
        );
      }
      statements.putPrompt(scope, prompt);
    },
    forget: () => undefined,
  };
}

/**
 * Keeps the prompt with the caller's provider, or with one that the caller's function makes. Throws `invalid_options`, `provider_failed`.
 */
export function frozenWith(
  provider: WritableContextProvider | ((scope: BlockScope) => WritableContextProvider),
  scope: BlockScope,
  limitMs: number,
): FrozenPrompt {
  const store = typeof provider === "function" ? makeProvider(scope.label, () => provider(scope)) : provider;
  claim(store, scope);
  makeProvider(scope.label, () => store.init?.(labelFor(scope)));
  return frozenAt(store, limitMs);
}

/** `read` and `write` throw `provider_failed`. */
function frozenAt(provider: WritableContextProvider, limitMs: number): FrozenPrompt {
  const label = "system prompt";
  // A provider cannot delete a text. Reads therefore ignore the text of a forgotten session until it is replaced.
  let isForgotten = false;
  return {
    read: async () => (isForgotten ? null : askForText({ label, verb: "read", limitMs, call: () => provider.get() })),
    write: async (prompt) => {
      await askProvider({ label, verb: "write", limitMs, call: () => provider.set(prompt) });
      isForgotten = false;
    },
    forget: () => void (isForgotten = true),
  };
}
