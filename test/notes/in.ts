/** The notes of a session of a memory without an agent. */
import type { History } from "../../src/memory/messages/history.ts";
import { SessionNotes } from "../../src/notes/versions.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export function notesIn(history: History): SessionNotes {
  return new SessionNotes(history.tree, {
    now: () => 1_000,
    countTokens: estimateTokens,
  });
}
