/**
 * A caller's function that is told of each overlay that came into force, and may add a word behind its summary (F8).
 *
 * Safe because it runs after the commit and off everybody's path: what it throws is reported and swallowed, and what it
 * returns is added in a transaction of its own, or left out where the overlay would not be smaller than its source any more
 * (V3). It is called at most once for an overlay: an object that dies in between does not call it again.
 */
import { PalimpsestError } from "../errors.ts";
import { HOOK_TOKENS } from "../limits.ts";
import type { OverlayRecord } from "../memory/overlays.ts";
import type { RunRecord } from "../memory/runs.ts";
import { cutSection } from "../steps/notes/document.ts";
import type { Core } from "./core.ts";

/** Returns what the model should know besides, or nothing. */
export type AfterCompaction = (event: {
  readonly sessionId: string;
  readonly run: RunRecord;
  readonly overlay: OverlayRecord;
}) => string | null | undefined | void | Promise<string | null | undefined | void>;

/** For a run that has just ended. */
export async function tellAfterCompaction(core: Core, run: RunRecord): Promise<void> {
  const { afterCompaction, onError } = core.settings.get(run.sessionId);
  const { outcome, sessionId } = run;
  if (afterCompaction === null || (outcome?.kind !== "applied" && outcome?.kind !== "rebased")) return;
  const overlay = core.memory.session(sessionId).overlay(outcome.overlayId);
  if (overlay === null) return;
  try {
    const text = (await afterCompaction({ sessionId, run, overlay })) ?? "";
    if (typeof text !== "string" || text.trim() === "") return;
    const context = cutSection(text.trim().toWellFormed(), HOOK_TOKENS, "[…]");
    core.memory.session(sessionId).addContext(outcome.overlayId, context);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await onError?.(new PalimpsestError("provider_failed", `onAfterCompaction failed: ${reason}`), run);
  }
}
