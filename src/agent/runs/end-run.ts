/**
 * The one way to end a run, for its workflow, a caller's function, a room, a person, a split, or the deletion of its session. It bills
 * what is unanswered, writes one outcome, queues the caller's hook, and looks again for due runs.
 */
import type { EndedRun, Outcome, LiveRun } from "../../memory/runs/runs.ts";
import { billUnanswered } from "./bill.ts";
import { queueHook } from "./after-compaction.ts";
import type { Needs } from "../core.ts";

/** Behind {@link Core.endRun}. */
export function endRun(
  core: Needs<"hookOutbox" | "memory" | "platform" | "rooms" | "runs" | "settings" | "spend" | "trigger">,
  run: LiveRun,
  outcome: Outcome,
): Outcome {
  const at = core.platform.now();
  if (run.state === "proposed") core.memory.session(run.sessionId).overlays.takeProposal(run.id);
  const billed = billUnanswered(core, run);
  const steps = billed.steps.map((step) => (step.endedAt === null ? { ...step, endedAt: at } : step));
  const ended = core.runs.end({ ...billed, steps }, outcome, settledSize(core, run));
  if (ended.outcome !== outcome) return ended.outcome;
  queueHook(core, run, outcome);
  core.trigger.ended(run);
  return outcome;
}

/** The messages of the branch that the run looked at, where its policy counts them. Appends during the run count as growth. */
function settledSize(core: Needs<"memory">, { sessionId, leafId, policy }: LiveRun): Pick<EndedRun, "settledMessages"> {
  if (policy.maxMessages === undefined) return {};
  const history = core.memory.session(sessionId);
  return { settledMessages: history.size(history.has(leafId) ? leafId : null).messages };
}
