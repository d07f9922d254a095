/** The input of a commit and its validation before any look-up. */
import { PalimpsestError } from "../../errors.ts";
import { stripInvisible } from "../../steps/text/text.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import type { Facts } from "../../facts/fact.ts";
import type { Before } from "../../facts/gather.ts";
import type { OverlayDetails } from "./details.ts";

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
  /** The facts of the span. Without them and without `details.facts` they are read here, in one piece. */
  readonly facts?: Facts | undefined;
  /** What earlier summaries of the view show, and the tokens by which the last one shrinks, because the new one shows that. */
  readonly beside?: { readonly before: Before; readonly freedTokens: number };
  /** Token limit for facts pinned beside a summary that comes without facts. */
  readonly pinnedTokens?: number | undefined;
  /** Token limit for loaded texts beside that summary. */
  readonly loadedTokens?: number | undefined;
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
