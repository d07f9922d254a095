/** What a commit is asked with, and what is wrong with it before anything is looked up. */
import { PalimpsestError } from "../../errors.ts";
import { stripInvisible } from "../../steps/text/invisible-characters.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import type { OverlayDetails } from "./details.ts";

export interface OverlayInput {
  readonly span: Span;
  readonly summary: string;
  /** The span's digest when the summary was planned. Without it, whatever is there now is what is summarised. */
  readonly digest?: string;
  /** Overlays that were visible inside the span then. Without it, a change among them is not told. */
  readonly overlayIds?: readonly string[];
  /** The run that commits: it commits once (C1). */
  readonly runId?: string;
  readonly overlayId?: string;
  /** The leaf whose view was summarised. Without it, an overlay of any branch over the span counts as a change. */
  readonly leafId?: string;
  readonly details?: Partial<OverlayDetails>;
  /** Most tokens of what is pinned beside a summary that comes without facts. */
  readonly pinnedTokens?: number | undefined;
  /** And of the names beside it. */
  readonly namesTokens?: number | undefined;
}

/**
 * The input with the summary as it is laid: without what nobody sees. Whoever wrote it, no way in leads past this. Throws
 * `invalid_input`.
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
