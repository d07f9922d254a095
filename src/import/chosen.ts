/** Chooses the conversation of a file that goes into a session. */
import { PalimpsestError } from "../errors.ts";
import type { Conversation, ImportResult } from "./import.ts";

/** A conversation of a file, with notes on what was left out. */
export interface Chosen {
  readonly conversation: Conversation;
  readonly notes: readonly string[];
}

/**
 * Returns the conversation at `index`. Without it the file's only one, or the one whose agent started all the others. Throws `invalid_input`.
 */
export function chooseConversation({ conversations, notes }: ImportResult, index: number | undefined): Chosen {
  const [first, ...others] = conversations;
  const isMain = first !== undefined && !first.isSubAgent && others.every(({ isSubAgent }) => isSubAgent);
  const conversation = conversations[index ?? 0];
  if (conversation === undefined || (index === undefined && !isMain)) {
    throw new PalimpsestError(
      "invalid_input",
      `The file holds ${conversations.length} conversations. Pass index, 0 to ${conversations.length - 1}, to choose one.`,
    );
  }
  if (index !== undefined || others.length === 0) return { conversation, notes };
  const messages = others.reduce((sum, other) => sum + other.messages.length, 0);
  const left = `messages of ${others.length} sub-agents left out (index 1 to ${others.length} takes one): ${messages}`;
  return { conversation, notes: [...notes, left] };
}
