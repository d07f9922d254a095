/**
 * Ids of calls in the form of Mistral, whose API and chat templates refuse any but nine letters and digits.
 *
 * Each form depends on the id alone, so a call and its result keep one id, and the prompt of a step begins with the one before.
 */
import type { ModelMessage } from "ai";
import { digest } from "../steps/text/digest.ts";

const NINE = /^[a-z\d]{9}$/i;
const MISTRAL = /m(?:in|ix|ag)?istral|mixtral|devstral|codestral|pixtral/i;

/** Whether a model of the AI SDK is one of Mistral's, whoever serves it. */
export function wantsNineChars(model: unknown): boolean {
  const { provider = "", modelId = model } = (model ?? {}) as { provider?: unknown; modelId?: unknown };
  return MISTRAL.test(`${String(provider)} ${String(modelId)}`);
}

export function withNineCharIds(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part) => {
      if (!("toolCallId" in part) || NINE.test(part.toolCallId)) return part;
      return { ...part, toolCallId: digest(part.toolCallId).slice(0, 9) };
    });
    return content.every((part, at) => part === message.content[at])
      ? message
      : ({ ...message, content } as ModelMessage);
  });
}
