/**
 * Reasons why a compaction does not start now, as values.
 *
 * Checks the soft reasons (cost and patience) without reading the view. Decides nothing about branches and growth (trigger.ts) and nothing
 * about the cut (steps/plan/plan.ts). Safe because no such reason stops the compaction of a view over the hard line. The run then ends in
 * an extractive summary, which needs no model, because {@link mayAsk} forbids asking one.
 */
import { COOLDOWNS_MS } from "../../../limits.ts";
import type { MayAsk } from "../../../memory/runs/health.ts";
import type { LiveRun } from "../../../memory/runs/runs.ts";
import { explainSpent, waitFor, type Waiting } from "../../../steps/decide/decide.ts";
import type { Needs } from "../../core.ts";

/** Why a run that the threshold asks for should wait. The last one failed, no model answers, or the budget is spent. */
export function findObstacle(
  core: Needs<"health" | "platform" | "runs" | "settings" | "spend">,
  sessionId: string,
): Waiting | null {
  const now = core.platform.now();
  const last = core.runs.latestEnded(sessionId);
  if (last?.outcome.kind === "failed") {
    const rung = Math.min(last.fruitless ?? 0, COOLDOWNS_MS.length - 1);
    const until = last.endedAt + (COOLDOWNS_MS[rung] ?? 0);
    // Without its reason, because every client may ask why a session waits.
    if (now < until) return waitFor("cooling-down", `The last run failed; another may start ${after(until)}.`);
  }
  // A caller's own function asks none of our models.
  return core.settings.get(sessionId).inline === null ? findModelObstacle(core, sessionId) : null;
}

/** Why no model should be asked for a session now, by any run. None answers, or the budget is spent. */
export function findModelObstacle(
  core: Needs<"health" | "platform" | "settings" | "spend">,
  sessionId: string,
): Waiting | null {
  const open = core.health.latestOpen(core.platform.now());
  if (open !== null) return waitFor("breaker-open", `${open.reason} It is asked again ${after(open.until)}.`);
  const spent = findOverdraft(core, sessionId);
  return spent === null ? null : waitFor("budget-spent", spent);
}

/** Whether a run may ask this model. The same run gets the same answer to a probe again. Call inside a transaction. */
export function mayAsk(core: Needs<"health" | "platform" | "settings" | "spend">, run: LiveRun, model: string): MayAsk {
  if (run.ignoreBudget === true) return { kind: "yes" };
  const spent = findOverdraft(core, run.sessionId);
  if (spent !== null) return { kind: "no", until: null, reason: spent };
  return core.health.mayAsk(model, core.platform.now(), run.id);
}

/** What to change where the budget is spent. Otherwise null. */
export function findOverdraft(core: Needs<"platform" | "settings" | "spend">, sessionId: string): string | null {
  const { when } = core.settings.get(sessionId);
  const unbounded = when === null || (when.budget.sessionTokens === null && when.budget.dayTokens === null);
  return unbounded ? null : explainSpent(when.budget, core.spend.of(sessionId, core.platform.now()));
}

function after(until: number): string {
  return `after ${new Date(until).toISOString()}`;
}
