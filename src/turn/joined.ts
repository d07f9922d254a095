/** Neighbours of one role in a prompt as one message, where a view ends with the assistant's words and the turn goes on with more of them. */
import type { AssistantModelMessage, ModelMessage } from "ai";

export function joined(messages: readonly ModelMessage[]): ModelMessage[] {
  const result: ModelMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (last?.role !== "assistant" || message.role !== "assistant" || partsOf(last).some(isCallOfClient)) {
      result.push(message);
    } else result[result.length - 1] = { ...last, content: [...partsOf(last), ...partsOf(message)] } as ModelMessage;
  }
  return result;
}

function partsOf({ content }: AssistantModelMessage): readonly object[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Whether a part is a call whose result is the next message. */
export function isCallOfClient(part: object): boolean {
  const { type, providerExecuted } = part as { type?: unknown; providerExecuted?: unknown };
  return type === "tool-call" && providerExecuted !== true;
}
