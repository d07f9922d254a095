/**
 * What stands in for an overlay that an edit took out of force: the drafts of those of its chunks that the edit did not
 * touch, each as an overlay of its own.
 *
 * Runs in the transaction of the edit, after it. Safe because a chunk's draft is shown only where the digest of its
 * messages is still the one that it was made of, and comes in through the same fence as any overlay (C2, C3, V3): old
 * text is never seen again. What the overlay had folded in needs nothing: it lies beneath, and shows by itself.
 */
import { DEFAULT_NAMES_TOKENS, DEFAULT_PINNED_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/measure.ts";
import { pinWithin } from "../../steps/pinned/keep.ts";
import { renderInForce } from "../../steps/pinned/render.ts";
import type { Drafts } from "../drafts.ts";
import type { Leaf, Opening } from "./details.ts";
import { toRecord } from "./record.ts";
import type { Overlays } from "./overlays.ts";
import type { OverlayRow } from "../statements.ts";

export interface Standing {
  readonly sessionId: string;
  readonly laid: Overlays;
  readonly drafts: Drafts;
  readonly countTokens: CountTokens;
}

export function invalidate(standing: Standing, gone: readonly OverlayRow[]): void {
  for (const row of gone) {
    const { details } = toRecord(row);
    const pinnedTokens = Math.max(DEFAULT_PINNED_TOKENS, standing.countTokens(renderInForce(details.pinned)));
    const { opening, madeOf } = details;
    for (const part of madeOf) if (part.kind === "leaf") showLeaf(standing, part, { pinnedTokens, opening });
  }
}

/** What was pinned for the whole has room beside each part: no rule leaves the view with an edit elsewhere. */
function showLeaf(
  { laid, drafts, sessionId, countTokens }: Standing,
  leaf: Leaf,
  { pinnedTokens, opening }: { pinnedTokens: number; opening: Opening | null },
): void {
  const { fromId, fromStep, toId, toStep, digest, draftKey, tokens } = leaf;
  const span = { fromId, fromStep, toId, toStep };
  const range = laid.locate(span);
  const draft = drafts.get(sessionId, draftKey);
  if (range === null || draft === null || laid.describe(range, [])?.digest !== digest) return;
  const { text, model, degraded, generation, facts } = draft;
  laid.add({
    span,
    summary: text,
    details: {
      model,
      degraded,
      trigger: "edit",
      generation,
      madeOf: [leaf],
      draftKey,
      opening: opening !== null && laid.isWithin(opening.messageId, range) ? opening : null,
      ...pinWithin(text, facts, { spanTokens: tokens, pinnedTokens, namesTokens: DEFAULT_NAMES_TOKENS, countTokens }),
    },
  });
}
