/** A predictable conversation. Message n is always the same, and weighs about a hundred tokens. */
import type { UIMessage } from "ai";

const TOPICS = ["parser", "scheduler", "ledger", "fence", "outline", "watchdog"];

/** Even ones are the user's. `words` tells an edited message from the first one. */
export function say(n: number, words = ""): UIMessage {
  const topic = TOPICS[n % TOPICS.length] ?? "";
  const text = `Message ${n}: we changed src/${topic}-${n}.ts so that the ${topic} keeps its promise number ${n}. `;
  return {
    id: `m${n}`,
    role: n % 2 === 0 ? "user" : "assistant",
    parts: [{ type: "text", text: words + text.repeat(5) }],
  };
}

/** Messages `from` to `to`, without the last. */
export function talk(from: number, to: number): UIMessage[] {
  return Array.from({ length: to - from }, (_, index) => say(from + index));
}

/** Everything that a view or a page shows, as one text. */
export function textOf(messages: readonly UIMessage[]): string {
  return JSON.stringify(messages.map((message) => message.parts));
}
