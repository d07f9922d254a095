/**
 * An overlay as callers see it, and the conversions from its row.
 *
 * Shapes and conversions only. overlays.ts decides which overlays are in force, and ../messages/walk.ts which are visible.
 */
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import { withoutState } from "../../steps/draft/audit.ts";
import type { SummarySource } from "../../facts/render.ts";
import { parseChanges, type OverlayChange, type OverlayState } from "./changes.ts";
import { parseDetails, type OverlayDetails } from "./details.ts";
import type { Steps } from "../messages/content.ts";
import type { OverlayRow } from "../statements.ts";

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
