/** What a message is and weighs, in the words of the SDK's sessions. */
import type { UIMessage } from "ai";
import { measureMessage } from "../steps/message/message.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { isSummary } from "../steps/view/view.ts";

/** Begins the id of a message that stands for a summary there. */
export const COMPACTION_PREFIX = "compaction_";

/** Of theirs or of ours. */
export function isCompactionMessage(message: Pick<UIMessage, "id" | "parts">): boolean {
  return message.id.startsWith(COMPACTION_PREFIX) || isSummary(message);
}

export function estimateStringTokens(text: string): number {
  return estimateTokens(text);
}

export function estimateMessageTokens(messages: readonly UIMessage[]): number {
  return messages.reduce((sum, message) => sum + measureMessage(message, estimateTokens).tokens, 0);
}
