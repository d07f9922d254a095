/**
 * Writes the message that stands in a view for a summary and all that is kept beside it, and the record of one in a session that does not
 * hold the messages.
 */
import type { UIMessage } from "ai";
import { withoutEmptySections } from "../steps/draft/empty-sections.ts";
import { withoutHeading } from "../steps/text/safe-text.ts";
import { isSummaryRecord, overlayMessageId, parseSyntheticId, RECORD_PREFIX } from "../steps/view/view.ts";
import type { Instruction, Pinned } from "./fact.ts";
import { renderInstructions, renderLoaded, renderSaid } from "./render.ts";

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
    parts: [{ type: "text", text: parts.filter((part) => part !== "").join("\n\n") + withoutHeading(besides(source)) }],
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
