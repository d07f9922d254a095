/**
 * A run that a person asks for. What could not pay off ends at once, with the reason, and no workflow is started for it:
 * the summariser is down, or the budget is spent, and nobody insists.
 */
import type { RunRecord } from "../memory/runs.ts";
import type { Core } from "./core.ts";
import { endRun } from "./end-run.ts";
import { findNotes } from "./notes-ready.ts";
import { findModelObstacle } from "./postpone.ts";
import { startOrJoin, type RunRequest } from "./trigger.ts";

/** Call inside a transaction. Throws `session_ended`, `not_configured`. */
export function askForRun(core: Core, sessionId: string, request: RunRequest): { run: RunRecord; joined: boolean } {
  const receipt = startOrJoin(core, sessionId, request);
  const { run, joined } = receipt;
  if (joined || request.trigger !== "manual" || request.insist === true) return receipt;
  // A function of the caller's own asks no model of ours.
  const obstacle = core.settings.get(sessionId).inline === null ? findModelObstacle(core, sessionId) : null;
  if (obstacle === null || findNotes(core, run)?.kind === "ready") return receipt;
  endRun(core, run, { kind: "nothing", reason: obstacle.reason, detail: `${obstacle.detail} ${obstacle.advice}` });
  return { run: core.runs.mustGet(run.id), joined };
}
