/**
 * Replaces an overlay that an edit invalidated. Each of its chunks that the edit did not touch gets an overlay of its
 * own, with the chunk's stored draft.
 *
 * Runs in the transaction of the edit, after it. It is safe because a draft is shown only where its messages still have
 * the digest that it was made from. It also passes the same fence as any overlay (C2, C3, V3), so old text never
 * returns. Overlays that the invalidated one had folded in need no work, because they are still in force beneath it.
 */
import { DEFAULT_PINNED_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { keepFacts } from "../../facts/gather.ts";
import { renderInstructions, renderSaid } from "../../facts/render.ts";
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

export function showDraftsOf(standing: Standing, gone: readonly OverlayRow[]): void {
  for (const row of gone) {
    const { details } = toRecord(row);
    const { instructions, said } = details.pinned;
    const shown = standing.countTokens(renderInstructions(instructions)) + standing.countTokens(renderSaid(said));
    const pinnedTokens = Math.max(DEFAULT_PINNED_TOKENS, shown);
    const { opening, madeOf } = details;
    for (const part of madeOf) if (part.kind === "leaf") showLeaf(standing, part, { pinnedTokens, opening });
  }
}

/** Gives each part the budget of the whole, so that an edit elsewhere removes none of the user's words from the view. */
function showLeaf(
  { laid, drafts, sessionId, countTokens }: Standing,
  leaf: Leaf,
  { pinnedTokens, opening }: { pinnedTokens: number; opening: Opening | null },
): void {
  const { fromId, fromStep, toId, toStep, digest, draftKey, tokens } = leaf;
  const span = { fromId, fromStep, toId, toStep };
  const range = laid.locate(span);
  const draft = draftKey === null ? null : drafts.get(sessionId, draftKey);
  if (range === null || draft === null || laid.describe(range)?.digest !== digest) return;
  const { text, model, degraded, generation, facts, unfounded } = draft;
  const mostTokens = tokens - countTokens(text) - SUMMARY_FRAME_TOKENS;
  const pinned = { ...keepFacts(facts, { mostTokens, pinnedTokens, countTokens }), unfounded };
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
      sourceTokens: tokens,
      pinned,
    },
  });
}
