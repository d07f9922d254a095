/**
 * Reads the messages of a span in slices, with room for appends and other calls after each.
 *
 * A host's messages are fetched slice by slice, too.
 */
import type { UIMessage } from "ai";
import type { SpanReader } from "../../memory/messages/span-reader.ts";
import type { Needs } from "../core.ts";
import { pauseOf } from "../let-others-in.ts";

/** The results of `work` on each slice, in the order of the conversation. */
export async function readSlices<T>(
  core: Needs<"read" | "uses">,
  { sessionId, reader }: { readonly sessionId: string; readonly reader: SpanReader },
  work: (messages: readonly UIMessage[]) => T,
): Promise<T[]> {
  const pause = pauseOf(core);
  const newestFirst: T[] = [];
  for (;;) {
    const messages = await core.read(sessionId, () => reader.next());
    if (messages === null) return newestFirst.toReversed();
    if (messages.length > 0) newestFirst.push(work(messages));
    await pause();
  }
}
