/** Writes UIMessages as JSONL, one a line. `importTranscript` reads them back unchanged. */
import type { UIMessage } from "ai";

/** Yields one line a message, with its newline. It is lazy, so that a long history is never held as one string. */
export function* exportJsonl(messages: Iterable<UIMessage>): Generator<string, void> {
  for (const message of messages) yield `${JSON.stringify(message)}\n`;
}
