/** How a run ends, whoever ends it: one outcome, and another look at the trigger. */
import type { CommitResult } from "../memory/overlays.ts";
import type { Outcome, RunRecord } from "../memory/runs.ts";
import { promptTokens } from "./calibration.ts";
import type { Core } from "./core.ts";
import { triggerIfDue } from "./trigger.ts";

/**
 * Writes the outcome unless one stands already, and looks again in the same transaction: an append that found this run
 * at work was coalesced into it, and may be due now. Call inside a transaction; announce after it.
 */
export function finishRun(core: Core, runId: string, outcome: Outcome): Outcome {
  const run = core.runs.mustGet(runId);
  if (run.outcome !== null) return run.outcome;
  const at = core.platform.now();
  core.runs.end(runId, outcome, {
    steps: run.steps.map((step) => (step.endedAt === null ? { ...step, endedAt: at } : step)),
  });
  core.branchLeaf.delete(runId);
  triggerIfDue(core, run.sessionId);
  return outcome;
}

/** The outcome of a fenced commit, with the view's size before and after it. */
export function outcomeOf(core: Core, run: RunRecord, commit: { result: CommitResult; degraded: boolean }): Outcome {
  const { result, degraded } = commit;
  if (result.kind === "stale") return { kind: "stale", reason: result.reason };
  const history = core.memory.session(run.sessionId);
  return {
    kind: result.kind === "rebased" ? "rebased" : "applied",
    overlayId: result.overlay.id,
    tokensBefore: run.tokensBefore,
    tokensAfter: promptTokens(core, run.sessionId, history.has(run.leafId) ? run.leafId : null),
    degraded,
  };
}
