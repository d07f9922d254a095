/**
 * Elements of a view that no caller wrote: summaries, the visible part of a message, and extractive summaries in a fitted view
 * (src/fit/fit-view.ts).
 *
 * All have ids under one reserved prefix. Clients echo messages that they were shown. {@link parseSyntheticId}
 * recognises such an echo, so that it is never stored as a caller's message.
 *
 * Our own store takes no message from outside under the prefix or with our metadata ({@link ownMark}). A host that keeps
 * its messages stores whatever a client sends. Such a message is read without the marks ({@link unmarked}), so it is what
 * its author says, and nobody's record.
 */
import { withoutEmptySections } from "../draft/empty-sections.ts";
import type { UIMessage } from "ai";
import { WHOLE_MESSAGE } from "../plan/outline.ts";
import type { Pinned, PinnedFact } from "../../facts/fact.ts";
import { IN_FORCE_HEADING, renderInForce, renderNames } from "../../facts/render.ts";
import { withoutHeading } from "../text/safe-text.ts";

/** The prefix of our own ids. No message from outside is stored under one. */
export const RESERVED_PREFIX = "palimpsest:";

/** The reserved key in a message's metadata. */
export const RESERVED_METADATA = "palimpsest";

export type SyntheticId =
  | { readonly kind: "overlay"; readonly overlayId: string }
  | { readonly kind: "slice"; readonly messageId: string; readonly fromStep: number; readonly toStep: number }
  | { readonly kind: "fitted"; readonly messageId: string };

export interface SummarySource {
  readonly overlayId: string;
  readonly summary: string;
  /** The number of messages that it stands for. */
  readonly spanMessages?: number;
  /** True when no model wrote it. */
  readonly degraded?: boolean;
  /** Facts quoted word for word beside the summary. */
  readonly pinned?: Pinned;
  /** Texts of context blocks when the overlay was added. */
  readonly carried?: readonly { readonly label: string; readonly text: string }[];
  /** How the conversation began, word for word. */
  readonly opening?: string | null;
  /** A text added by the caller's code. */
  readonly context?: string | null;
}

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

/** A summary as a stored message, for a session that does not hold the summarised messages. */
export function recordMessage(source: SummarySource, rules: readonly PinnedFact[] = []): UIMessage {
  const { overlayId } = source;
  const ruled = rules.map(({ value, messageId }) => ({ value, messageId }));
  const metadata = { palimpsest: { kind: "record", overlayId, rules: ruled } };
  // Nothing else of a summary is stored in the session that begins with it.
  const whole = { ...source, ...(source.pinned !== undefined && { pinned: { ...source.pinned, alone: false } }) };
  return { ...summaryMessage(whole), id: `${RECORD_PREFIX}${overlayId}`, metadata };
}

/** The user's rules behind a stored summary, word for word, with the ids of the messages that stated them. */
export function recordedRules(message: Pick<UIMessage, "id" | "metadata">): { value: string; messageId: string }[] {
  if (!isSummaryRecord(message)) return [];
  // A row that was damaged from outside is decoded without metadata.
  const { rules } = (message.metadata as { palimpsest?: { rules?: unknown } } | undefined)?.palimpsest ?? {};
  return Array.isArray(rules) ? rules.filter(isRecordedRule) : [];
}

function isRecordedRule(rule: unknown): rule is { value: string; messageId: string } {
  const { value, messageId } = (rule ?? {}) as { value?: unknown; messageId?: unknown };
  return typeof value === "string" && typeof messageId === "string";
}

/** Whether a stored message is the record of a summary, so nobody's own words. */
export function isSummaryRecord({ id }: Pick<UIMessage, "id">): boolean {
  return id.startsWith(RECORD_PREFIX);
}

/** Whether a message of a view is a summary, so nobody's own words. */
export function isSummary(message: Pick<UIMessage, "id">): boolean {
  return isSummaryRecord(message) || parseSyntheticId(message.id)?.kind === "overlay";
}

/** The summary as the model reads it. It is a user message, framed as a record so that it is not taken for a request. */
export function summaryMessage(source: SummarySource): UIMessage {
  const { spanMessages } = source;
  const count = spanMessages === 1 ? "1 message or some of its steps" : `${spanMessages ?? ""} messages`.trimStart();
  const origin = source.degraded === true ? ", made without a model" : "";
  const loaded = (source.pinned?.loaded ?? []).filter(({ text }) => text !== "");
  const documents = loaded.flatMap(({ kind, name }) => (kind === "context" ? [name] : []));
  const names = renderNames(source.pinned?.names ?? []);
  const inForce = stillInForce(source);
  // Documents end what is in force and may be long, so names do not stand below them.
  const isLong = loaded.some(({ kind }) => kind !== "plan" && kind !== "call");
  const beside = isLong ? [names, inForce] : [inForce, names];
  const summary = source.pinned?.alone === true ? "" : withoutHeading(withoutEmptySections(source.summary));
  const parts = [summary, ...beside];
  return {
    id: overlayMessageId(source.overlayId),
    role: "user",
    metadata: {
      palimpsest: { kind: "overlay", overlayId: source.overlayId, ...(documents.length > 0 && { documents }) },
    },
    parts: [
      {
        type: "text",
        text:
          `[${count}, not a request${origin}]\n\n` +
          parts.filter((part) => part !== "").join("\n\n") +
          withoutHeading(besides(source)),
      },
    ],
  };
}

/** The names of the entries of context blocks that a summary shows whole. Empty for any other message. */
export function carriedDocuments({ id, metadata }: Pick<UIMessage, "id" | "metadata">): readonly string[] {
  if (parseSyntheticId(id)?.kind !== "overlay") return [];
  const { documents } = (metadata as { palimpsest?: { documents?: unknown } | null } | null)?.palimpsest ?? {};
  return Array.isArray(documents) ? documents : [];
}

/** Pinned facts and the opening, under one heading, so that their tokens can be told apart from the summary. */
function stillInForce(source: SummarySource): string {
  const rules = source.pinned === undefined ? "" : renderInForce(source.pinned);
  const began = withoutHeading(opened(source));
  if (began === "") return rules;
  return `${rules === "" ? IN_FORCE_HEADING : rules}\n${began}`;
}

/** The quoted opening of the conversation. */
export function opened({ opening = null }: Pick<SummarySource, "opening">): string {
  return opening === null ? "" : `### How it began, word for word\n${opening}`;
}

/** The carried blocks and the caller's context, shown after the summary and the pinned facts. */
export function besides({ carried = [], context = null }: Pick<SummarySource, "carried" | "context">): string {
  const blocks = carried.map(({ label, text }) => `\n\n## ${label}, as it was\n${text}`).join("");
  return context === null ? blocks : `${blocks}\n\n## Besides\n${context}`;
}
