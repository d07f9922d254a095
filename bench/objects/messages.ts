/** The messages for every store under test, with the same ids and texts. Each is as long as a short turn of a chat. */
import type { UIMessage } from "ai";

const SENTENCE = "The parser now keeps a trailing comma in an argument list, and the test for it passes. ";

/** About 100 tokens. Odd numbers are the assistant's. */
export function messageAt(n: number, revision = 0): UIMessage {
  const text = `Message ${n}, revision ${revision}. ${SENTENCE.repeat(4)}`;
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}

export function messagesBetween(first: number, last: number): UIMessage[] {
  return Array.from({ length: last - first + 1 }, (_, index) => messageAt(first + index));
}
