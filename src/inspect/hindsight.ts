/** Reports what came of the names that the compactions of a session hid. */
import { gradeView } from "../agent/reports/hindsight.ts";
import type { Needs } from "../agent/core.ts";
import { hindsights, type OverlayHindsight } from "../memory/overlays/hindsights.ts";
import type { Hindsight } from "../facts/hindsight.ts";

/** The hindsight of one branch. Without a word of the conversation. */
export interface HindsightReport {
  /**
   * What came of the newest compaction until now. Null before the first one, and "not known yet" while nothing was said
   * since.
   */
  readonly now: (Hindsight & { readonly overlayId: string }) | null;
  /** The newest overlays in any state with what is known of each, newest first. */
  readonly overlays: readonly OverlayHindsight[];
}

/** The newest branch's count until now, and the counts that are kept. */
export async function reportHindsight(
  core: Needs<"memory" | "read" | "uses">,
  sessionId: string,
  limit: number,
): Promise<HindsightReport> {
  const graded = await gradeView(core, sessionId, null);
  const now = graded === null ? null : { overlayId: graded.overlayId, ...graded.hindsight };
  return { now, overlays: hindsights(core.memory.session(sessionId), limit) };
}
