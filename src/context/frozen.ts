/**
 * Where a frozen prompt is kept: in memory, in SQLite, or with a provider of the caller's.
 *
 * `null` is "nothing is frozen"; an empty prompt is a prompt.
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
  /** What was kept is not to be read any more; rows are deleted by whoever calls this. */
  forget(): void;
}

/** Until the object is evicted. */
export function frozenInMemory(): FrozenPrompt {
  let frozen: string | null = null;
  return {
    read: async () => frozen,
    write: async (prompt) => void (frozen = prompt),
    forget: () => void (frozen = null),
  };
}

/** One row per session. `write` throws `block_full` when the prompt is too large for one. */
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

/** With a provider of the caller's, made for the session or its own. Throws `invalid_options`, `provider_failed`. */
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
  // A provider cannot be told to drop a text: what a forgotten session left there is passed over until it is replaced.
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
