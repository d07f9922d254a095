/**
 * Reads the messages of a span in slices, with room for appends and other calls after each.
 *
 * A host's messages are fetched slice by slice, too.
 */
import type { UIMessage } from "ai";
import type { Span } from "../../steps/plan/outline.ts";
import type { SpanReader } from "../../memory/messages/span-reader.ts";
import type { Needs } from "../core.ts";
import { yielderOf } from "../yielder.ts";

/** The results of `work` on each slice, in the order of the conversation. */
export async function readSlices<T>(
  core: Needs<"read" | "uses">,
  { sessionId, reader }: { readonly sessionId: string; readonly reader: SpanReader },
  work: (messages: readonly UIMessage[]) => T,
  pause = yielderOf(core),
): Promise<T[]> {
  const newestFirst: T[] = [];
  for (;;) {
    const messages = await core.read(sessionId, () => reader.next());
    if (messages === null) return newestFirst.toReversed();
    if (messages.length > 0) newestFirst.push(work(messages));
    // Most spans are one slice, which kept nobody waiting for long. A pause would cost a run milliseconds.
    if (reader.isDone && newestFirst.length === 1) return newestFirst;
    await pause();
  }
}

/**
 * Opens a span as it is now. The returned function describes it, with room for other work, so that a commit over one of any length reads it
 * once. It returns a check whether nothing in the span changed since it was opened.
 */
export function openSpan(
  core: Needs<"memory" | "uses">,
  { sessionId, span }: { readonly sessionId: string; readonly span: Span },
): () => Promise<() => boolean> {
  const { spans } = core.memory.session(sessionId);
  const stamp = spans.stamp(span);
  const pause = yielderOf(core);
  return async () => {
    for (const _ of spans.survey(span)) await pause();
    const digestNow = (): string | undefined => spans.digest(span)?.digest;
    // A host may write its index anew meanwhile, with the same messages.
    const opened = spans.stamp(span) === stamp ? digestNow() : null;
    return () => digestNow() === opened;
  };
}
