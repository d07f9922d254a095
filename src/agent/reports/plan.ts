/** What a run would do now, and why, without doing it: the run's own planning, and what the session is configured with. */
import { HOOK_TOKENS } from "../../limits-of-notes.ts";
import type { Plan } from "../../steps/plan/plan.ts";
import type { Policy } from "../../steps/plan/policy.ts";
import { besides, opened } from "../../steps/view/view.ts";
import { carriedIn, openingOf } from "../runs/boundary.ts";
import type { Core } from "../core.ts";
import { planNow } from "../runs/dry-run.ts";
import { rentsNow } from "../runs/rents.ts";
import { explainFunction, explainNotes, explainPlan, explainRents, type PlanReport } from "./explain.ts";
import { foreseeNotes } from "../notes/forecast.ts";
import { findReasonToWait } from "../runs/trigger.ts";

export interface PlanQuestion {
  /** The active branch by default. */
  readonly leafId?: string | undefined;
  /** As if asked for by hand. */
  readonly manual?: boolean;
  readonly rebuild?: boolean;
}

/** Null for a session without messages. Writes nothing. Throws `unknown_leaf`. */
export async function reportPlan(
  core: Core,
  sessionId: string,
  { policy, leafId, manual = false, rebuild = false }: PlanQuestion & { readonly policy: Policy },
): Promise<PlanReport | null> {
  const carried = await carriedIn(core, sessionId);
  const asked = { manual: manual || rebuild, only: rebuild ? ("rebuild" as const) : undefined };
  const rents = leafId === undefined ? rentsNow(core, sessionId) : null;
  const due = rents?.summary.isDue === true;
  const isActive = leafId === undefined || leafId === core.memory.session(sessionId).leafId();
  const masked = isActive ? core.memory.session(sessionId).masks.report() : null;
  const told = (report: Parameters<typeof explainRents>[0]): PlanReport => explainRents(report, { rents, masked });
  const found = planNow(core, sessionId, { policy, leafId, due, ...asked });
  if (found === null) return null;
  const { outline, plan } = found;
  const branch = { sessionId, leafId: outline.leafId };
  const { when, afterCompaction, countTokens, inline } = core.settings.get(sessionId);
  const waiting = asked.manual ? null : findReasonToWait(core, sessionId, branch);
  const circumstances = { policy, prices: when?.prices, waiting };
  const foreseen = foreseeNotes(core, { ...branch, ...asked, policy, focus: null, fresh: false }, carried);
  if (foreseen !== null && foreseen.plan !== null) return told(explainNotes(outline, foreseen, circumstances));
  if (inline !== null && !isBefore(plan))
    return told(explainFunction(outline, { policy, waiting, notes: foreseen?.notes ?? null }));
  // Most that stands around a summary: how it began, blocks that are carried, as they are now, and what a caller's code may add.
  const opening = plan.kind === "span" ? openingOf(core, { sessionId, policy }, plan) : null;
  const around = countTokens(opened({ opening: opening?.text ?? null })) + countTokens(besides({ carried }));
  const besideTokens = around + (afterCompaction === null ? 0 : HOOK_TOKENS);
  return told(explainPlan(outline, plan, { ...circumstances, besideTokens, notes: foreseen?.notes ?? null }));
}

/** Whether nothing is asked at all, neither a summariser nor a function. */
function isBefore(plan: Plan): boolean {
  return plan.kind === "nothing" && (plan.reason === "empty" || plan.reason === "under-threshold");
}
