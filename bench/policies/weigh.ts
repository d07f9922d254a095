/** Tokens of messages by our estimate, the same for every policy. */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/message/message.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export function weigh(messages: readonly UIMessage[]): number {
  return messages.reduce((sum, message) => sum + measureMessage(message, estimateTokens).tokens, 0);
}
