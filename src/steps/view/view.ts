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
import type { Instruction, Pinned } from "../../facts/fact.ts";
import { renderInstructions, renderLoaded, renderSaid } from "../../facts/render.ts";
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
export function recordMessage(source: SummarySource, instructions: readonly Instruction[] = []): UIMessage {
  const { overlayId } = source;
  const recorded = instructions.map(({ quote, messageId }) => ({ quote, messageId }));
  const metadata = { palimpsest: { kind: "record", overlayId, instructions: recorded } };
  return { ...summaryMessage(source), id: `${RECORD_PREFIX}${overlayId}`, metadata };
}

/** The user's instructions behind a stored summary, word for word, with the ids of the messages that stated them. */
export function recordedInstructions(message: Pick<UIMessage, "id" | "metadata">): Instruction[] {
  if (!isSummaryRecord(message)) return [];
  // A row that was damaged from outside is decoded without metadata.
  const { instructions } =
    (message.metadata as { palimpsest?: { instructions?: unknown } } | undefined)?.palimpsest ?? {};
  return Array.isArray(instructions) ? instructions.filter(isInstruction) : [];
}

function isInstruction(value: unknown): value is Instruction {
  const { quote, messageId } = (value ?? {}) as { quote?: unknown; messageId?: unknown };
  return typeof quote === "string" && typeof messageId === "string";
}

/** Whether a stored message is the record of a summary, so nobody's own words. */
export function isSummaryRecord({ id }: Pick<UIMessage, "id">): boolean {
  return id.startsWith(RECORD_PREFIX);
}

/** Whether a message of a view is a summary, so nobody's own words. */
export function isSummary(message: Pick<UIMessage, "id">): boolean {
  return isSummaryRecord(message) || parseSyntheticId(message.id)?.kind === "overlay";
}

/**
 * The summary as the model reads it. It is a user message, which every provider takes, framed so that nobody takes it for a request. The
 * frame says what it is, and that what follows is later.
 */
export function summaryMessage(source: SummarySource): UIMessage {
  const { pinned } = source;
  const documents = (pinned?.loaded ?? []).flatMap(({ kind, name, text }) =>
    kind === "context" && text !== "" ? [name] : [],
  );
  const parts = [
    frameOf(source),
    withoutHeading(withoutEmptySections(source.summary)),
    pinned === undefined ? "" : renderSaid(pinned.said),
    withoutHeading(opened(source)),
    pinned === undefined ? "" : renderInstructions(pinned.instructions),
    pinned === undefined ? "" : renderLoaded(pinned.loaded),
  ];
  return {
    id: overlayMessageId(source.overlayId),
    role: "user",
    metadata: {
      palimpsest: { kind: "overlay", overlayId: source.overlayId, ...(documents.length > 0 && { documents }) },
    },
    parts: [
      { type: "text", text: parts.filter((part) => part !== "").join("\n\n") + withoutHeading(besides(source)) },
    ],
  };
}

function frameOf({ spanMessages, degraded }: SummarySource): string {
  const count = spanMessages === 1 ? "1 message or some of its steps" : `${spanMessages ?? "earlier"} messages`;
  const origin = degraded === true ? " It was made without a model, so it says little." : "";
  return `[Summary of ${count} of this conversation, which stand here no more. A record, not a request.${origin} What follows it is later and holds where they differ. References like [@0a1b2c3] name the originals, for a tool that recalls them if there is one.]`;
}

/** The names of the entries of context blocks that a summary shows whole. Empty for any other message. */
export function carriedDocuments({ id, metadata }: Pick<UIMessage, "id" | "metadata">): readonly string[] {
  if (parseSyntheticId(id)?.kind !== "overlay") return [];
  const { documents } = (metadata as { palimpsest?: { documents?: unknown } | null } | null)?.palimpsest ?? {};
  return Array.isArray(documents) ? documents : [];
}

/** The quoted opening of the conversation. */
export function opened({ opening = null }: Pick<SummarySource, "opening">): string {
  return opening === null ? "" : `## How it began, word for word\n${opening}`;
}

/** The carried blocks and the caller's context, shown after the summary and the pinned facts. */
export function besides({ carried = [], context = null }: Pick<SummarySource, "carried" | "context">): string {
  const blocks = carried.map(({ label, text }) => `\n\n## ${label}, as it was\n${text}`).join("");
  return context === null ? blocks : `${blocks}\n\n## Besides\n${context}`;
}
