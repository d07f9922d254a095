/**
 * Starts a run that a person asks for. A run in vain ends at once with its reason and without a workflow, because the summariser is down or
 * the budget is spent, unless the person insists.
 */
import type { LiveRun, RunRecord } from "../../../memory/runs/runs.ts";
import type { Needs, RunRequest } from "../../core.ts";
import { findModelObstacle } from "./postpone.ts";

type Asks = Needs<"endRun" | "health" | "platform" | "runs" | "settings" | "spend">;

/** Call inside a transaction. Throws `session_ended`, `not_configured`. */
export function askForRun(
  core: Asks & Needs<"rooms" | "trigger">,
  sessionId: string,
  request: RunRequest,
): { run: RunRecord; joined: boolean } {
  const receipt = core.trigger.startOrJoin(sessionId, request);
  if (request.trigger !== "manual" || request.ignoreBudget === true) return receipt;
  // A caller's own function asks none of our models.
  if (core.settings.get(sessionId).inline !== null) return receipt;
  return endIfInVain(core, receipt, (run) => core.rooms.summaries?.isReady(run) === true);
}

/** Ends a fresh run as `nothing` where a model is needed and none may be asked. */
export function endIfInVain(
  core: Asks,
  receipt: { run: LiveRun; joined: boolean },
  needsNoModel: (run: LiveRun) => boolean,
): { run: RunRecord; joined: boolean } {
  const { run, joined } = receipt;
  const obstacle = joined ? null : findModelObstacle(core, run.sessionId);
  if (obstacle === null || needsNoModel(run)) return receipt;
  core.endRun(run, { kind: "nothing", reason: obstacle.reason, detail: `${obstacle.detail} ${obstacle.advice}` });
  return { run: core.runs.mustGet(run.id), joined };
}
