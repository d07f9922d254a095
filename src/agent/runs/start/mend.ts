/**
 * Asks for a run that covers again what an edit under an overlay uncovered.
 *
 * Decides only whether to ask. The plan finds the gap. Nothing depends on it, because uncovered messages show as they are stored, and any
 * later run covers them too.
 */
import { isCompaction, type LiveRun } from "../../../memory/runs/runs.ts";
import type { Core } from "../../core.ts";
import { planNow } from "./dry-run.ts";
import { startOrJoin } from "./trigger.ts";

/**
 * Call inside a transaction, after a change, or with the run that ended. A live run goes first. Its ledger row records that a mend is due,
 * which survives a rollback and the object's death.
 */
export function mendIfUncovered(core: Core, sessionId: string, ended: LiveRun | null = null): void {
  const history = core.memory.session(sessionId);
  if (!history.takeUncovered() && ended?.mendAfter !== true) return;
  const atWork = core.runs.live(sessionId).find(isCompaction);
  if (atWork !== undefined) {
    if (atWork.mendAfter !== true) core.runs.change(atWork.id, { mendAfter: true });
    return;
  }
  const leafId = history.leafId();
  const { policy } = core.settings.get(sessionId);
  if (policy === null || leafId === null || history.hasEnded) return;
  if (planNow(core, sessionId, { policy, leafId, only: "mend" })?.plan.kind !== "span") return;
  startOrJoin(core, sessionId, { trigger: "edit", leafId, only: "mend" });
}
