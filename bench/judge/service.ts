/** Joins the short conversations of one customer into one long one. Pure. */
import type { UIMessage } from "ai";
import { weigh } from "../policies/weigh.ts";

export interface Customer {
  /** As the customers of the service conversations name themselves. */
  readonly id: string;
  readonly messages: readonly UIMessage[];
}

const CUSTOMER = /\b[a-z]+_[a-z]+_\d{4}\b/;

/**
 * The `most` customers with the most tokens, the largest first. Each has all of its conversations in stored order, without system messages.
 * A conversation that names no customer is left out.
 */
export function joinByCustomer(conversations: readonly (readonly UIMessage[])[], most: number): Customer[] {
  const byId = Map.groupBy(conversations, (messages) => customerOf(messages));
  return [...byId]
    .flatMap(([id, own]) => (id === null ? [] : [{ id, messages: join(own) }]))
    .map((customer) => ({ customer, tokens: weigh(customer.messages) }))
    .toSorted((one, other) => other.tokens - one.tokens)
    .slice(0, most)
    .map(({ customer }) => customer);
}

function customerOf(messages: readonly UIMessage[]): string | null {
  const said = messages.filter(({ role }) => role === "user").flatMap(({ parts }) => parts);
  for (const part of said) {
    const [id] = part.type === "text" ? (CUSTOMER.exec(part.text) ?? []) : [];
    if (id !== undefined) return id;
  }
  return null;
}

/** Makes the ids of messages and calls unique across the conversations. */
function join(conversations: readonly (readonly UIMessage[])[]): UIMessage[] {
  return conversations.flatMap((messages, n) =>
    messages
      .filter(({ role }) => role !== "system")
      .map((message): UIMessage => ({
        ...message,
        id: `${n}-${message.id}`,
        parts: message.parts.map((part) =>
          "toolCallId" in part ? { ...part, toolCallId: `${n}-${part.toolCallId}` } : part,
        ),
      })),
  );
}
