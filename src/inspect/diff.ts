/** Compares a summary with the ones that it replaced. */
import type { History } from "../memory/messages/history.ts";
import { discloseOverlay, listReplaced } from "../memory/overlays/time-travel.ts";
import { diffSummaries, type SummaryDiff } from "./steps/diff-summaries.ts";

/**
 * Bullets of a summary compared with those that it replaced. `gone` when the messages under it were deleted, `withheld` when messages under
 * it or under the replaced ones were edited since.
 */
export type CompactionDiff =
  | ({ readonly kind: "diff"; readonly overlayId: string; readonly replaced: readonly string[] } & SummaryDiff)
  | { readonly kind: "gone" }
  | { readonly kind: "withheld" };

/** Throws `unknown_overlay`. */
export function diffCompaction(history: History, overlayId: string): CompactionDiff {
  const { laid } = history.overlays;
  const rows = listReplaced(history.tree, laid, laid.mustGetRow(overlayId));
  const replaced = rows?.map((row) => discloseOverlay(laid, row)) ?? null;
  const overlay = history.overlays.list().find((each) => each.id === overlayId) ?? null;
  if (replaced === null || overlay === null) return { kind: "gone" };
  if ([overlay, ...replaced].some((each) => each.withheld === true)) return { kind: "withheld" };
  const { added, dropped, kept } = diffSummaries(
    replaced.map((each) => each.summary),
    overlay.summary,
  );
  return { kind: "diff", overlayId, replaced: replaced.map((each) => each.id), added, dropped, kept };
}
