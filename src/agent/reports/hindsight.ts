/**
 * Counts what came of the names that a view hides, once something was said after its newest overlay.
 *
 * Reads rows that are there and asks no model. It keeps six counts and no word beside the overlay, so that nothing of
 * them can outlive a message that is edited or deleted (S2). It reads at most {@link HINDSIGHT_BYTES} of messages in
 * slices, and lets other requests in between the pieces of its work.
 */
import type { UIMessage } from "ai";
import type { History } from "../../memory/messages/history.ts";
import type { Slice } from "../../memory/messages/slices.ts";
import { toRecord } from "../../memory/overlays/record.ts";
import { countAgain, findAgain } from "../../facts/hindsight.ts";
import { inSlices } from "../../steps/text/slices.ts";
import type { Graded, Needs } from "../core.ts";
import { pauseOf } from "../let-others-in.ts";
import { factsOf } from "../runs/drafts/sources.ts";
import { readListed } from "../runs/read-slices.ts";

/** Bytes of messages that one count reads: a view of some 200,000 tokens. Of more, the newest messages are not counted. */
export const HINDSIGHT_BYTES = 1_000_000;

type Reads = Needs<"memory" | "read" | "uses">;

/** Counts for the newest overlay of a branch. Null without one, and while nothing was said since. */
export async function gradeView(core: Reads, sessionId: string, leafId: string | null): Promise<Graded | null> {
  const history = (): History => core.memory.session(sessionId);
  const found = await core.read(sessionId, () => history().since({ leafId, maxBytes: HINDSIGHT_BYTES }));
  if (found === null || found.later.length === 0) return null;
  const { newest, overlays, unread } = found;
  const pause = pauseOf(core);
  const read = async (slices: readonly Slice[]): Promise<UIMessage[]> =>
    (await Array.fromAsync(readListed(core, sessionId, slices))).flat();
  const shown = await read(found.shown);
  const later = await read(found.later);
  const hidden = overlays.map(({ row }) => factsOf(core, toRecord(row), sessionId).words);
  const again = await inSlices(findAgain({ hidden, shown, later }), pause);
  const counts = countAgain(
    again,
    overlays.map(({ text }) => text),
  );
  return { overlayId: newest.overlayId, hindsight: { messages: later.length, unread, ...counts }, again, overlays };
}

/** Counts for a run that is being planned, and keeps the counts beside the overlay. A second count replaces the first. */
export async function noteHindsight(core: Reads & Needs<"runs">, runId: string): Promise<void> {
  const run = core.runs.get(runId);
  if (run === null || run.outcome !== null) return;
  const graded = await gradeView(core, run.sessionId, run.leafId);
  if (graded === null) return;
  core.memory.session(run.sessionId).overlays.noteHindsight(graded.overlayId, graded.hindsight);
}
