/**
 * Reads the messages of a span in slices, with room for appends and other calls after each, and gathers their facts.
 *
 * A host's messages are fetched slice by slice, too.
 */
import type { UIMessage } from "ai";
import type { Facts } from "../../facts/fact.ts";
import { gatherFacts, mergeFacts } from "../../facts/gather.ts";
import type { Span } from "../../steps/plan/outline.ts";
import { redactionOf } from "../redaction.ts";
import type { SpanReader } from "../../memory/messages/span-reader.ts";
import type { Needs } from "../core.ts";
import { pauseOf } from "../let-others-in.ts";

/** The results of `work` on each slice, in the order of the conversation. */
export async function readSlices<T>(
  core: Needs<"read" | "uses">,
  { sessionId, reader }: { readonly sessionId: string; readonly reader: SpanReader },
  work: (messages: readonly UIMessage[]) => T,
  pause = pauseOf(core),
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

/** Bytes of messages whose facts are gathered at once, in some 50 ms. A larger message is gathered alone. */
const GATHERED_BYTES = 40_000;

/** Uses let in between two of these pieces, so that fewer than one in a hundred calls without a gap waits for one. */
const USES_WHILE_GATHERING = 250;

export interface Gathered {
  readonly facts: Facts;
  /** True while the span is still as it was when it was opened. A summary of a span that changed is stale. */
  isCurrent(): boolean;
}

/** Opens a span as it is now, in order to summarise it. The returned function reads it. Null where its ends are gone. */
export function openSpan(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  { sessionId, span }: { readonly sessionId: string; readonly span: Span },
): () => Promise<Gathered | null> {
  const history = core.memory.session(sessionId);
  const redaction = redactionOf(core.settings.get(sessionId));
  const reader = history.spans.reader(span, GATHERED_BYTES);
  const gather = (messages: readonly UIMessage[]): Facts => gatherFacts(messages.map(redaction.message));
  const pause = pauseOf(core, USES_WHILE_GATHERING);
  const digestNow = (): string | undefined => history.spans.digest(span)?.digest;
  return async () => {
    if (reader === null) return null;
    for (const _ of history.spans.survey(span)) await pause();
    const opened = reader.isUntouched ? digestNow() : null;
    const parts = await readSlices(core, { sessionId, reader }, gather, pause);
    // So that the commit compares a span of any length without reading it again.
    for (const _ of history.spans.survey(span)) await pause();
    return {
      facts: mergeFacts(parts),
      isCurrent: () => digestNow() === opened && history.spans.isAsRead(reader, span),
    };
  };
}
