/**
 * What compaction puts into a view that the caller never wrote: summaries, the visible part of a message, and what
 * stands in a fitted view for what did not fit (fit-view.ts).
 *
 * All carry ids under one reserved prefix. Clients echo what they were shown, so a message that comes back with such
 * an id is recognised by {@link parseSyntheticId} and never stored as if somebody had said it.
 *
 * Why an id can be trusted: nothing that comes from outside is stored under the prefix, or with metadata of ours
 * ({@link ownMark}). So what an id under it says was said by us.
 */
import { withoutEmptySections } from "../draft/empty-sections.ts";
import type { UIMessage } from "ai";
import { WHOLE_MESSAGE } from "../plan/outline.ts";
import type { Pinned, PinnedFact } from "../pinned/fact.ts";
import { IN_FORCE_HEADING, renderInForce, renderNames } from "../pinned/render.ts";

/** Ids that start so are ours: no message from outside is stored under one. */
export const RESERVED_PREFIX = "palimpsest:";

/** The key in a message's metadata that is ours. */
export const RESERVED_METADATA = "palimpsest";

/** Where a line begins that a reader could take for the heading of what is in force. */
const IN_FORCE_LOOKALIKE =
  /(?<![^\n\v\f\r\u0085\u2028\u2029])(?=[ \t]*(?:#{1,6}[ \t]*|[*_]{1,2})still[ \t]+in[ \t]+force)/gi;

export type SyntheticId =
  | { readonly kind: "overlay"; readonly overlayId: string }
  | { readonly kind: "slice"; readonly messageId: string; readonly fromStep: number; readonly toStep: number }
  | { readonly kind: "fitted" };

export interface SummarySource {
  readonly overlayId: string;
  readonly summary: string;
  /** How many messages it stands for. */
  readonly spanMessages?: number;
  /** True when no model wrote it. */
  readonly degraded?: boolean;
  /** Kept word for word, whatever the summary says. */
  readonly pinned?: Pinned;
  /** Texts of context blocks, as they were. */
  readonly carried?: readonly { readonly label: string; readonly text: string }[];
  /** How the conversation began, word for word. */
  readonly opening?: string | null;
  /** What the caller's code has to say besides. */
  readonly context?: string | null;
}

export function overlayMessageId(overlayId: string): string {
  return `${RESERVED_PREFIX}overlay:${overlayId}`;
}

/** Stable while the message grows when `toStep` is `WHOLE_MESSAGE`. */
export function sliceMessageId(messageId: string, fromStep: number, toStep: number): string {
  return `${RESERVED_PREFIX}slice:${fromStep}-${toStep === WHOLE_MESSAGE ? "end" : toStep}:${messageId}`;
}

/** Of what one answer only holds: a digest that was made to fit, or what such a view kept of a message. Names nothing stored. */
export function fittedMessageId(messageId: string, step: number): string {
  return `${RESERVED_PREFIX}fitted:${step}:${messageId}`;
}

/** What a reserved id stands for; null when the id is a caller's own. */
export function parseSyntheticId(id: string): SyntheticId | null {
  if (!id.startsWith(RESERVED_PREFIX)) return null;
  const rest = id.slice(RESERVED_PREFIX.length);
  if (rest.startsWith("overlay:")) return { kind: "overlay", overlayId: rest.slice("overlay:".length) };
  if (rest.startsWith("fitted:")) return { kind: "fitted" };
  const [, from, to, messageId] = /^slice:(\d+)-(\d+|end):([^]*)$/.exec(rest) ?? [];
  if (from === undefined || to === undefined || messageId === undefined) return null;
  return { kind: "slice", messageId, fromStep: Number(from), toStep: to === "end" ? WHOLE_MESSAGE : Number(to) };
}

/** What only we may give a message, and this one has: an id or metadata of ours. Null for a caller's own message. */
export function ownMark({ id, metadata }: Pick<UIMessage, "id" | "metadata">): "id" | "metadata" | null {
  if (id.startsWith(RESERVED_PREFIX)) return "id";
  const marked = typeof metadata === "object" && metadata !== null && Object.hasOwn(metadata, RESERVED_METADATA);
  return marked ? "metadata" : null;
}

/**
 * Begins the id of a stored message that is a summary: what a session which goes on from another one begins with. Such rows
 * are made by a split and copied by a fork, and by nothing else.
 */
export const RECORD_PREFIX = `${RESERVED_PREFIX}record:`;

/** A summary as a message that is stored, in a session that does not hold what it tells of. */
export function recordMessage(source: SummarySource, rules: readonly PinnedFact[] = []): UIMessage {
  const { overlayId } = source;
  const said = rules.map(({ value, messageId }) => ({ value, messageId }));
  const metadata = { palimpsest: { kind: "record", overlayId, rules: said } };
  return { ...summaryMessage(source), id: `${RECORD_PREFIX}${overlayId}`, metadata };
}

/** The user's rules that a stored summary stands for, word for word, with the messages that said them. */
export function recordedRules(message: Pick<UIMessage, "id" | "metadata">): { value: string; messageId: string }[] {
  if (!isRecord(message)) return [];
  // A row that was damaged from outside is read without metadata.
  const { rules } = (message.metadata as { palimpsest?: { rules?: unknown } } | undefined)?.palimpsest ?? {};
  return Array.isArray(rules) ? rules.filter(isRecordedRule) : [];
}

function isRecordedRule(rule: unknown): rule is { value: string; messageId: string } {
  const { value, messageId } = (rule ?? {}) as { value?: unknown; messageId?: unknown };
  return typeof value === "string" && typeof messageId === "string";
}

/** Whether a stored message is a summary that a session was opened with: nobody's own words. */
export function isRecord({ id }: Pick<UIMessage, "id">): boolean {
  return id.startsWith(RECORD_PREFIX);
}

/** Whether a message of a view is a summary: nobody's own words. */
export function isSummary(message: Pick<UIMessage, "id">): boolean {
  return isRecord(message) || parseSyntheticId(message.id)?.kind === "overlay";
}

/** The summary as the model reads it: a user message, framed as a record so that it is not taken for a request. */
export function summaryMessage(source: SummarySource): UIMessage {
  const { spanMessages } = source;
  const count =
    spanMessages === 1
      ? "1 earlier message, or of some of its steps"
      : `${spanMessages ?? ""} earlier messages`.trimStart();
  const origin = source.degraded === true ? " It was extracted without a model." : "";
  const parts = [
    withoutHeading(withoutEmptySections(source.summary)),
    renderNames(source.pinned?.names ?? []),
    stillInForce(source),
  ];
  return {
    id: overlayMessageId(source.overlayId),
    role: "user",
    metadata: { palimpsest: { kind: "overlay", overlayId: source.overlayId } },
    parts: [
      {
        type: "text",
        text:
          `[Record of ${count}, condensed: background, not a new request.${origin}]\n\n` +
          parts.filter((part) => part !== "").join("\n\n") +
          withoutHeading(besides(source)),
      },
    ],
  };
}

/** What holds whatever the summary says, and how it began: under one heading, so that who counts room can tell it apart. */
function stillInForce(source: SummarySource): string {
  const rules = source.pinned === undefined ? "" : renderInForce(source.pinned);
  const began = withoutHeading(opened(source));
  if (began === "") return rules;
  return `${rules === "" ? IN_FORCE_HEADING : rules}\n${began}`;
}

/** How the conversation began: nobody summarised it. */
export function opened({ opening = null }: Pick<SummarySource, "opening">): string {
  return opening === null ? "" : `### How it began, word for word\n${opening}`;
}

/** What stands behind a summary and what is pinned: nobody summarised it. */
export function besides({ carried = [], context = null }: Pick<SummarySource, "carried" | "context">): string {
  const blocks = carried.map(({ label, text }) => `\n\n## ${label}, as it was\n${text}`).join("");
  return context === null ? blocks : `${blocks}\n\n## Besides\n${context}`;
}

/** The text with no heading that could pose as that of what is in force: only what was really pinned stands under one. */
function withoutHeading(text: string): string {
  return text.replaceAll(IN_FORCE_LOOKALIKE, "\\");
}
