/**
 * How a run ends, whoever ends it: its workflow, a caller's function, notes, a person, a split, or what took its session
 * away. One outcome, nothing kept of the run, and another look at what is due.
 */
import type { Outcome, RunRecord } from "../../memory/runs/runs.ts";
import { queueHook } from "./after-compaction.ts";
import type { Core } from "../core.ts";
import { mendIfUncovered } from "./mend.ts";
import { startNotesIfDue } from "../notes/trigger.ts";
import { triggerIfDue } from "./trigger.ts";

/**
 * Writes the outcome unless one stands already, and looks again in the same transaction: an append that found this run
 * at work was coalesced into it, and may be due now. Call inside a transaction, after whatever keeps another run from
 * being due. Returns the outcome that stands.
 */
export function endRun(core: Core, run: RunRecord, outcome: Outcome): Outcome {
  const at = core.platform.now();
  const steps = run.steps.map((step) => (step.endedAt === null ? { ...step, endedAt: at } : step));
  const ended = core.runs.end(run.id, outcome, { ...run, steps });
  if (ended.outcome !== outcome) return ended.outcome ?? outcome;
  queueHook(core, run, outcome);
  core.marks.branchLeaf.delete(run.id);
  if (run.kind === "notes") core.marks.notesMarks.delete(run.sessionId);
  triggerIfDue(core, run.sessionId);
  mendIfUncovered(core, run.sessionId, run);
  startNotesIfDue(core, run.sessionId);
  return outcome;
}
