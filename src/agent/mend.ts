/**
 * After an edit under an overlay: asks for a run that covers again what the edit uncovered.
 *
 * Boundary: decides whether, not how; the plan finds the gap. Nothing depends on it: what is uncovered shows as it is
 * stored, and any later run mends it too.
 */
import type { Core } from "./core.ts";
import { planNow } from "./dry-run.ts";
import { startOrJoin } from "./trigger.ts";

/** Call inside a transaction, after a change or when a run ended. A run that is at work on the branch goes first. */
export function mendIfUncovered(core: Core, sessionId: string): void {
  const history = core.memory.session(sessionId);
  if (history.takeUncovered()) core.uncovered.add(sessionId);
  const leafId = history.leafId();
  const { policy, inline } = core.settings.get(sessionId);
  if (!core.uncovered.has(sessionId) || core.runs.live(sessionId).some(({ kind }) => kind !== "notes")) return;
  core.uncovered.delete(sessionId);
  if (policy === null || inline !== null || leafId === null || history.hasEnded) return;
  if (planNow(core, sessionId, { policy, leafId, only: "mend" })?.plan.kind !== "span") return;
  startOrJoin(core, sessionId, { trigger: "edit", leafId, only: "mend" });
}
