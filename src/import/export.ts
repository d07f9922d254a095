/** UIMessages to JSONL, one a line: what `importTranscript` reads back unchanged. */
import type { UIMessage } from "ai";

/** One line of text a message, its newline included. Lazy, so that a long history is never held as one string. */
export function* exportJsonl(messages: Iterable<UIMessage>): Generator<string, void> {
  for (const message of messages) yield `${JSON.stringify(message)}\n`;
}
