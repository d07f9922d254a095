/**
 * The marks of elements of a view that no caller wrote: summaries (src/facts/render.ts), the visible part of a message, and what
 * stands for messages that do not fit (src/fit/fit-view.ts).
 *
 * All have ids under one reserved prefix. Clients echo messages that they were shown. {@link parseSyntheticId}
 * recognises such an echo, so that it is never stored as a caller's message.
 *
 * Our own store takes no message from outside under the prefix or with our metadata ({@link ownMark}). A host that keeps
 * its messages stores whatever a client sends. Such a message is read without the marks ({@link unmarked}), so it is what
 * its author says, and nobody's record.
 */
import type { UIMessage } from "ai";
import { WHOLE_MESSAGE } from "../plan/outline.ts";

/** The prefix of our own ids. No message from outside is stored under one. */
export const RESERVED_PREFIX = "palimpsest:";

/** The reserved key in a message's metadata. */
export const RESERVED_METADATA = "palimpsest";

export type SyntheticId =
  | { readonly kind: "overlay"; readonly overlayId: string }
  | { readonly kind: "slice"; readonly messageId: string; readonly fromStep: number; readonly toStep: number }
  | { readonly kind: "fitted"; readonly messageId: string };

export function overlayMessageId(overlayId: string): string {
  return `${RESERVED_PREFIX}overlay:${overlayId}`;
}

/** An id of a message part. With `toStep` as `WHOLE_MESSAGE` it stays the same while the message grows. */
export function sliceMessageId(messageId: string, fromStep: number, toStep: number): string {
  return `${RESERVED_PREFIX}slice:${fromStep}-${toStep === WHOLE_MESSAGE ? "end" : toStep}:${messageId}`;
}

/**
 * The id of an extractive summary, or of a message's remaining part, in one fitted view. It names the element of the view that it begins
 * with.
 */
export function fittedMessageId(messageId: string, step: number): string {
  return `${RESERVED_PREFIX}fitted:${step}:${messageId}`;
}

/** The meaning of a reserved id. Null for a caller's own id. */
export function parseSyntheticId(id: string): SyntheticId | null {
  if (!id.startsWith(RESERVED_PREFIX)) return null;
  const rest = id.slice(RESERVED_PREFIX.length);
  if (rest.startsWith("overlay:")) return { kind: "overlay", overlayId: rest.slice("overlay:".length) };
  const [, fittedId] = /^fitted:\d+:([^]+)$/.exec(rest) ?? [];
  if (fittedId !== undefined) return { kind: "fitted", messageId: fittedId };
  const [, from, to, messageId] = /^slice:(\d+)-(\d+|end):([^]*)$/.exec(rest) ?? [];
  if (from === undefined || to === undefined || messageId === undefined) return null;
  return { kind: "slice", messageId, fromStep: Number(from), toStep: to === "end" ? WHOLE_MESSAGE : Number(to) };
}

/** The id of the stored message behind one of a view, where that is a part of it. Any other id as it is. */
export function storedId(id: string): string {
  const synthetic = parseSyntheticId(id);
  return synthetic?.kind === "slice" ? synthetic.messageId : id;
}

/** The reserved mark on a message, its id or its metadata. Null for a caller's own message. */
export function ownMark({ id, metadata }: Pick<UIMessage, "id" | "metadata">): "id" | "metadata" | null {
  if (id.startsWith(RESERVED_PREFIX)) return "id";
  const marked = typeof metadata === "object" && metadata !== null && Object.hasOwn(metadata, RESERVED_METADATA);
  return marked ? "metadata" : null;
}

/** A stored message as a view shortened or repaired it. Under its mark it is never stored. */
export function asChanged(message: UIMessage): UIMessage {
  if (ownMark(message) !== null) return message;
  const { metadata } = message;
  const own = typeof metadata === "object" && metadata !== null ? metadata : {};
  return { ...message, metadata: { ...own, [RESERVED_METADATA]: { kind: "changed" } } };
}

/** A host's message under another id and without our metadata, because only our own store holds messages of ours. */
export function unmarked({ metadata, ...message }: UIMessage): UIMessage {
  const id = message.id.startsWith(RESERVED_PREFIX) ? `said-${message.id.slice(RESERVED_PREFIX.length)}` : message.id;
  if (typeof metadata !== "object" || metadata === null)
    return { ...message, id, ...(metadata !== undefined && { metadata }) };
  const kept = Object.entries(metadata).filter(([key]) => key !== RESERVED_METADATA);
  return { ...message, id, ...(kept.length > 0 && { metadata: Object.fromEntries(kept) }) };
}

/**
 * The id prefix of a stored summary. A session that continues another one begins with such records. Only a split makes
 * them, and a fork copies them.
 */
export const RECORD_PREFIX = `${RESERVED_PREFIX}record:`;

/** Whether a stored message is the record of a summary, so nobody's own words. */
export function isSummaryRecord({ id }: Pick<UIMessage, "id">): boolean {
  return id.startsWith(RECORD_PREFIX);
}

/** The last line of what stands for hidden messages, so that nobody takes the words behind it for a part of it. */
export const RECORD_END = "[End of the record. What follows is later and holds.]";

/** Whether a message of a view is a summary, so nobody's own words. */
export function isSummary(message: Pick<UIMessage, "id">): boolean {
  return isSummaryRecord(message) || parseSyntheticId(message.id)?.kind === "overlay";
}
