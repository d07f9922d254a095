/**
 * After an edit under an overlay: asks for a run that covers again what the edit uncovered.
 *
 * Boundary: decides whether, not how; the plan finds the gap. Nothing depends on it: what is uncovered shows as it is
 * stored, and any later run mends it too.
 */
import type { RunRecord } from "../../memory/runs/runs.ts";
import type { Core } from "../core.ts";
import { planNow } from "./dry-run.ts";
import { startOrJoin } from "./trigger.ts";

/**
 * Call inside a transaction, after a change, or with the run that ended. A run that is at work goes first: its ledger row
 * keeps that there is something to mend, through a rollback and the object's death.
 */
export function mendIfUncovered(core: Core, sessionId: string, ended: RunRecord | null = null): void {
  const history = core.memory.session(sessionId);
  if (!history.takeUncovered() && ended?.mendAfter !== true) return;
  const atWork = core.runs.live(sessionId).find(({ kind }) => kind !== "notes");
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
