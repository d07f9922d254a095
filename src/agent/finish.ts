/** How a run ends, whoever ends it: one outcome, and another look at the trigger. */
import type { CommitResult } from "../memory/overlays.ts";
import type { Outcome, RunRecord } from "../memory/runs.ts";
import { noteUntold } from "./after-compaction.ts";
import { promptTokens } from "./calibration.ts";
import type { Core } from "./core.ts";
import { mendIfUncovered } from "./mend.ts";
import { startNotesIfDue } from "./notes-trigger.ts";
import { triggerIfDue } from "./trigger.ts";

/**
 * Writes the outcome unless one stands already, and looks again in the same transaction: an append that found this run
 * at work was coalesced into it, and may be due now. Call inside a transaction; announce after it.
 */
export function finishRun(core: Core, run: RunRecord, outcome: Outcome): Outcome {
  const at = core.platform.now();
  const steps = run.steps.map((step) => (step.endedAt === null ? { ...step, endedAt: at } : step));
  const ended = core.runs.end(run.id, outcome, { ...run, steps });
  if (ended.outcome !== outcome) return ended.outcome ?? outcome;
  noteUntold(core, run, outcome);
  core.branchLeaf.delete(run.id);
  if (run.kind === "notes") core.notesMarks.delete(run.sessionId);
  triggerIfDue(core, run.sessionId);
  mendIfUncovered(core, run.sessionId, run);
  startNotesIfDue(core, run.sessionId);
  return outcome;
}

/** The outcome of a fenced commit, with the view's size before and after it. */
export function outcomeOf(
  core: Core,
  run: RunRecord,
  commit: { result: CommitResult; degraded: boolean; score: number | null },
): Outcome {
  const { result, degraded, score } = commit;
  if (result.kind === "stale") return { kind: "stale", reason: result.reason };
  const history = core.memory.session(run.sessionId);
  return {
    kind: result.kind === "rebased" ? "rebased" : "applied",
    overlayId: result.overlay.id,
    tokensBefore: run.tokensBefore,
    tokensAfter: promptTokens(core, run.sessionId, history.has(run.leafId) ? run.leafId : null),
    degraded,
    score,
  };
}
