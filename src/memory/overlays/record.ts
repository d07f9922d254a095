/**
 * An overlay as callers see it, and what is read off its row.
 *
 * Boundary: shapes and conversions; overlays.ts decides what is in force, walk.ts what is visible.
 */
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import type { SummarySource } from "../../steps/view/view.ts";
import { parseChanges, type OverlayChange, type OverlayState } from "./changes.ts";
import { parseDetails, type OverlayDetails } from "./details.ts";
import type { OverlayRow } from "../statements.ts";

export interface OverlayRecord {
  readonly id: string;
  /** 1 for the session's first. */
  readonly n: number;
  readonly state: OverlayState;
  readonly span: Span;
  readonly summary: string;
  /** True where messages under it were edited or deleted since: then `summary` is empty, and the details hold no words of them. */
  readonly withheld?: true;
  /** Estimated tokens of the summary as it is shown. */
  readonly tokens: number;
  /** Estimated tokens of what it replaced in the view, when it was added. */
  readonly spanTokens: number;
  /** Messages that it stands for. */
  readonly spanMessages: number;
  readonly spanDigest: string;
  readonly runId: string | null;
  readonly details: OverlayDetails;
  /** Epoch ms. */
  readonly createdAt: number;
  /** How its state changed since, oldest first. */
  readonly changes: readonly OverlayChange[];
}

/** A part of a message: its first step and its last. */
export interface Steps {
  readonly fromStep: number;
  readonly toStep: number;
}

/** The part of a message that an overlay covers. */
export function coveredSteps(overlay: OverlayRow, seq: number): Steps {
  return {
    fromStep: overlay.fromSeq === seq ? overlay.fromStep : 0,
    toStep: overlay.toSeq === seq ? overlay.toStep : WHOLE_MESSAGE,
  };
}

/** What the shown summary is made of. */
export function summarySource(
  overlay: Pick<OverlayRecord, "summary" | "spanMessages" | "details"> & { overlayId: string },
): SummarySource {
  const { overlayId, summary, spanMessages, details } = overlay;
  const { degraded, pinned, carried, opening, context } = details;
  return { overlayId, summary, spanMessages, degraded, pinned, carried, context, opening: opening?.text ?? null };
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
