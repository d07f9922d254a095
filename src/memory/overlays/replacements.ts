/**
 * Replaces an overlay that an edit invalidated. Each of its chunks that the edit did not touch gets an overlay of its
 * own, with the chunk's stored draft.
 *
 * Runs in the transaction of the edit, after it. It is safe because a draft is shown only where its messages still have
 * the digest that it was made from. It also passes the same fence as any overlay (C2, C3, V3), so old text never
 * returns. Overlays that the invalidated one had folded in need no work, because they are still in force beneath it.
 */
import { DEFAULT_NAMES_TOKENS, DEFAULT_PINNED_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/measure.ts";
import { keepFacts } from "../../facts/keep.ts";
import { renderInForce } from "../../facts/render.ts";
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
    const pinnedTokens = Math.max(DEFAULT_PINNED_TOKENS, standing.countTokens(renderInForce(details.pinned)));
    const { opening, madeOf } = details;
    for (const part of madeOf) if (part.kind === "leaf") showLeaf(standing, part, { pinnedTokens, opening });
  }
}

/** Gives each part the pinned-facts budget of the whole, so that an edit elsewhere removes no rule from the view. */
function showLeaf(
  { laid, drafts, sessionId, countTokens }: Standing,
  leaf: Leaf,
  { pinnedTokens, opening }: { pinnedTokens: number; opening: Opening | null },
): void {
  const { fromId, fromStep, toId, toStep, digest, draftKey, tokens } = leaf;
  const span = { fromId, fromStep, toId, toStep };
  const range = laid.locate(span);
  const draft = drafts.get(sessionId, draftKey);
  if (range === null || draft === null || laid.describe(range)?.digest !== digest) return;
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
      ...keepFacts(text, facts, { spanTokens: tokens, pinnedTokens, namesTokens: DEFAULT_NAMES_TOKENS, countTokens }),
    },
  });
}
