/**
 * One overlay: its state and the changes of it, the details stored beside it, the record that callers see, and the input of a commit.
 *
 * Time is counted in overlays instead of by a clock. `afterN` is the number of the session's newest overlay when a change happened, so "right
 * after overlay n was added" has one exact meaning. A missing detail reads as in an overlay that a caller added by hand, so rows of any origin
 * are safe to read. overlays.ts decides which overlays are in force, and ../messages/visible.ts which are visible.
 */
import { PalimpsestError } from "../../errors.ts";
import { NO_FACTS, NOTHING_PINNED, type Carried, type Facts, type Opening, type Pinned } from "../../facts/fact.ts";
import type { SummarySource } from "../../facts/render.ts";
import type { Steps } from "../messages/content.ts";
import type { OverlayRow } from "../statements.ts";
import { withoutState } from "../../steps/draft/audit.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import { stripInvisible } from "../../steps/text/text.ts";

/**
 * Only an `active` overlay is ever shown. A `proposed` one waits for a person, and `notes` are a text that may become one. The others are kept
 * as history.
 */
export type OverlayState = "proposed" | "notes" | "active" | "rolled-back" | "invalidated";

export interface OverlayChange {
  readonly state: OverlayState;
  /** The number of the session's newest overlay when the change happened. */
  readonly afterN: number;
  /** Epoch ms. */
  readonly at: number;
}

/** The changes in order, oldest first. Empty for an overlay in force since it was added. */
export function parseChanges(row: Pick<OverlayRow, "changes">): OverlayChange[] {
  return JSON.parse(row.changes) as OverlayChange[];
}

/** The row's columns after one more change. */
export function addChange(row: Pick<OverlayRow, "changes">, change: OverlayChange): { state: string; changes: string } {
  return { state: change.state, changes: JSON.stringify([...parseChanges(row), change]) };
}

/** Whether the overlay was in force right after the session's `n`-th overlay was added. */
export function wasInForce(row: Pick<OverlayRow, "n" | "changes">, n: number): boolean {
  if (row.n > n) return false;
  const last = parseChanges(row).findLast((change) => change.afterN < n);
  return last === undefined || last.state === "active";
}

/** A chunk as a run cut it, with the draft made of it. */
export interface Leaf extends Span {
  readonly kind: "leaf";
  readonly digest: string;
  /** The draft of this chunk alone. Null where the chunk carried on an earlier summary. */
  readonly draftKey: string | null;
  /** Estimated tokens of its messages. */
  readonly tokens: number;
}

/** The moment at which an overlay replaced messages. */
export interface Boundary {
  readonly trigger: string;
  /** Tokens of the view, as a provider would have counted it. */
  readonly tokensBefore: number;
  /** The newest message at that moment. */
  readonly lastMessageId: string;
  /** The sorted names of every tool called before it, including calls that failed. */
  readonly tools: readonly string[];
  /** The part kept in view. `fromId` is the first message behind the overlay, or null when there was none. */
  readonly kept: { readonly headTokens: number; readonly tailTokens: number; readonly fromId: string | null };
}

/** How long a proposal waits for a person, and what happens then. */
export interface Deadline {
  /** Epoch ms. */
  readonly expiresAt: number;
  readonly onTimeout: "apply" | "discard";
}

export interface OverlayDetails {
  /** `caller` or `onCompaction` for a summary that none of our models wrote. */
  readonly model: string;
  /** True when no model wrote the summary, or when no model wrote a part of it. */
  readonly degraded: boolean;
  readonly trigger: string;
  readonly focus: string | null;
  /** 0 when it is made of messages alone. Otherwise one more than the highest overlay that it folded in. */
  readonly level: number;
  /** How often the covered text was summarised anew. */
  readonly generation: number;
  /**
   * The sources of the overlay, oldest first: its own chunks, and folded-in overlays, which stay in force beneath it
   * and hold their own. Empty when the sources are unknown.
   */
  readonly madeOf: readonly (Leaf | { readonly kind: "overlay"; readonly id: string })[];
  /** The facts of its span, for a summary without a draft that holds them. @internal */
  readonly facts: Facts | null;
  /** The draft that it shows. */
  readonly draftKey: string | null;
  /** Estimated tokens of the messages under it, as they were when it was made. Null where that is not known. */
  readonly sourceTokens: number | null;
  /** What stands beside it word for word. */
  readonly pinned: Pinned;
  /**
   * Earlier overlays whose instructions and loaded texts it shows. If one of them changes, those may be false. Empty when all come from
   * its own span.
   */
  readonly knows: readonly string[];
  /**
   * The parts of its tokens: what only the last overlay of a view shows, how much of that are instructions, and the summary with the
   * line before it.
   */
  readonly weights: { readonly last: number; readonly instructions?: number; readonly summary: number };
  /** The version of the session's notes that it shows. Null for a summary. */
  readonly notesVersion: number | null;
  /** Null when a caller added it. */
  readonly boundary: Boundary | null;
  /** The sorted names of the tools called before its end. Null where `boundary` has them. */
  readonly tools: readonly string[] | null;
  /** Context blocks that are shown behind it. */
  readonly carried: readonly Carried[];
  /** Null where the opening messages are still in view, or where no run asked for it. */
  readonly opening: Opening | null;
  /** The text that the caller's code added after the commit. Null for none. */
  readonly context: string | null;
  /** Of a summary that waits for a person. Null for any other. */
  readonly deadline: Deadline | null;
}

const BY_HAND: OverlayDetails = {
  model: "caller",
  degraded: false,
  trigger: "manual",
  focus: null,
  level: 0,
  generation: 1,
  madeOf: [],
  facts: null,
  draftKey: null,
  sourceTokens: null,
  pinned: NOTHING_PINNED,
  knows: [],
  weights: { last: 0, summary: 0 },
  notesVersion: null,
  boundary: null,
  tools: null,
  carried: [],
  opening: null,
  context: null,
  deadline: null,
};

export function parseDetails(json: string): OverlayDetails {
  return fillDetails(JSON.parse(json) as Partial<OverlayDetails>);
}

export function fillDetails(details: Partial<OverlayDetails>): OverlayDetails {
  const { facts = null, pinned } = details;
  return {
    ...BY_HAND,
    ...details,
    facts: facts === null ? null : { ...NO_FACTS, ...facts },
    pinned: { ...NOTHING_PINNED, ...pinned },
  };
}

/** A summary over a span of messages, with its text, its sizes and its history. The messages under it stay stored. */
export interface OverlayRecord {
  /** The id that `rollback`, `restore` and `expand` take. */
  readonly id: string;
  /** The session's first overlay is 1. */
  readonly n: number;
  /** Whether it is in force, and if not, why. */
  readonly state: OverlayState;
  /** The first and the last message that it stands for. */
  readonly span: Span;
  /** The text that a view shows in place of the span. */
  readonly summary: string;
  /**
   * True where covered messages were edited or deleted since. Then `summary` is empty and the details quote nothing of
   * them.
   */
  readonly withheld?: true;
  /** Estimated tokens of the summary as it is shown. */
  readonly tokens: number;
  /** Estimated tokens of the view elements that it replaced, when it was added. */
  readonly spanTokens: number;
  /** The number of messages that it stands for. */
  readonly spanMessages: number;
  /** The digest of the messages when they were summarised. Edited messages have another one. */
  readonly spanDigest: string;
  /** The run that made it. Null where none did. */
  readonly runId: string | null;
  /** Facts beside the text, such as its model, its trigger and the drafts that it was made from. */
  readonly details: OverlayDetails;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The changes of its state since it was added, oldest first. */
  readonly changes: readonly OverlayChange[];
}

/** The part of a message that an overlay covers. */
export function coveredSteps(overlay: OverlayRow, seq: number): Steps {
  return {
    fromStep: overlay.fromSeq === seq ? overlay.fromStep : 0,
    toStep: overlay.toSeq === seq ? overlay.toStep : WHOLE_MESSAGE,
  };
}

/** The source of the summary message that a view shows. */
export function summarySource(
  overlay: Pick<OverlayRecord, "summary" | "spanMessages" | "details"> & { overlayId: string },
): SummarySource {
  const { overlayId, summary, spanMessages, details } = overlay;
  const { degraded, pinned, carried, opening, context } = details;
  return { overlayId, summary, spanMessages, degraded, pinned, carried, context, opening: opening?.text ?? null };
}

/**
 * The summary with a later one behind it, whose state of things holds. Only a summary made by our template has that section.
 * In a caller's own text such a heading may mean anything.
 */
export function earlierSummary({ summary, details }: Pick<OverlayRecord, "summary" | "details">): string {
  return details.draftKey === null ? summary : withoutState(summary);
}

export function toRecord(row: OverlayRow): OverlayRecord {
  const { overlayId, state, fromId, fromStep, toId, toStep, details, changes: _changes, ...rest } = row;
  const { fromSeq: _from, toSeq: _to, topSeq: _top, ...shown } = rest;
  return {
    id: overlayId,
    state: state as OverlayState,
    span: { fromId, fromStep, toId, toStep },
    details: parseDetails(details),
    ...shown,
    changes: parseChanges(row),
  };
}

export interface OverlayInput {
  readonly span: Span;
  readonly summary: string;
  /** The span's digest when the summary was planned. Without it, the summary is taken to cover the span's current content. */
  readonly digest?: string;
  /** Overlays visible inside the span when it was planned. Without it, a change among them goes unnoticed. */
  readonly overlayIds?: readonly string[];
  /** The run that commits. It commits at most once (C1). */
  readonly runId?: string;
  readonly overlayId?: string;
  /** The leaf whose view was summarised. Without it, an overlay of any branch over the span counts as a change. */
  readonly leafId?: string;
  /** With a deadline the overlay waits for a person, and nothing shows it. */
  readonly details?: Partial<OverlayDetails>;
}

/**
 * Returns the input with invisible characters removed from the summary. Every overlay passes through here, no matter
 * who wrote the summary. Throws `invalid_input`.
 */
export function parseOverlay(input: OverlayInput): OverlayInput {
  const summary = typeof input.summary === "string" ? stripInvisible(input.summary) : "";
  if (summary.trim() === "") {
    throw new PalimpsestError("invalid_input", "An overlay needs a summary: a string with something in it.");
  }
  return { ...input, summary };
}

/** Throws `invalid_range`. */
export function checkSteps(span: Span): void {
  const { fromId, fromStep, toId, toStep } = span;
  const integers = Number.isInteger(fromStep) && Number.isInteger(toStep) && fromStep >= 0 && toStep >= 0;
  if (integers && (fromId !== toId || fromStep <= toStep) && toStep <= WHOLE_MESSAGE) return;
  throw new PalimpsestError(
    "invalid_range",
    `Steps ${fromStep} of "${fromId}" to ${toStep} of "${toId}" are no range: give integers from 0, the older end first, and WHOLE_MESSAGE for a message's end.`,
  );
}
