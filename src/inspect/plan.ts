/** Forecasts a run without starting it, from the run's own planning and the session's settings. */
import { HOOK_TOKENS } from "../limits.ts";
import type { Plan, SpanPlan } from "../steps/plan/plan.ts";
import type { Policy } from "../steps/plan/policy.ts";
import { besides, opened } from "../facts/render.ts";
import { readCarried, openingOf } from "../agent/runs/commit.ts";
import type { Needs } from "../agent/core.ts";
import { planNow, rentNow } from "../agent/runs/trigger.ts";
import { explainFunction, explainServed, explainPlan, explainRent, type PlanReport } from "./explain.ts";

/** The compaction that a plan is asked for. */
export interface PlanQuestion {
  /** The active branch by default. */
  readonly leafId?: string | undefined;
  /** Plans as if asked for by hand. */
  readonly manual?: boolean;
  /** Plans the summaries anew from their first drafts, as `compact({ rebuild: true })` makes them. */
  readonly rebuild?: boolean;
}

/** Null for a session without messages. Writes nothing. Throws `unknown_leaf`. */
export async function reportPlan(
  core: Needs<"hosted" | "memory" | "rooms" | "settings" | "trigger" | "usage">,
  sessionId: string,
  { policy, leafId, manual = false, rebuild = false }: PlanQuestion & { readonly policy: Policy },
): Promise<PlanReport | null> {
  const carried = await readCarried(core, sessionId);
  const asked = { manual: manual || rebuild, only: rebuild ? ("rebuild" as const) : undefined };
  const isActive = leafId === undefined || leafId === core.memory.session(sessionId).leafId();
  const rent = isActive ? rentNow(core, sessionId) : null;
  const due = rent?.isDue === true;
  const found = planNow(core, sessionId, { policy, leafId, due, ...asked });
  if (found === null) return null;
  const { outline, plan } = found;
  const branch = { sessionId, leafId: outline.leafId };
  const { inline } = core.settings.get(sessionId);
  const decision = asked.manual ? null : core.trigger.decide(sessionId, branch);
  const waiting = decision?.kind === "wait" ? decision.waiting : null;
  const circumstances = { policy, waiting };
  const foreseen =
    core.rooms.summaries?.foresee({ ...branch, ...asked, policy, focus: null, fresh: false }, carried) ?? null;
  if (foreseen !== null && foreseen.plan !== null)
    return explainRent(explainServed(outline, foreseen, circumstances), rent);
  if (inline !== null && !isBefore(plan))
    return explainRent(explainFunction(outline, { policy, waiting, foreseen }), rent);
  const besideTokens = plan.kind === "span" ? countBeside(core, { sessionId, policy }, { plan, carried }) : 0;
  return explainRent(explainPlan(outline, plan, { ...circumstances, besideTokens, foreseen }), rent);
}

/** Most tokens around a summary, which are the opening, carried blocks in their present form, and the text of `onAfterCompaction`. */
function countBeside(
  core: Needs<"memory" | "settings">,
  run: { readonly sessionId: string; readonly policy: Policy },
  { plan, carried }: { readonly plan: SpanPlan; readonly carried: Awaited<ReturnType<typeof readCarried>> },
): number {
  const { afterCompaction, countTokens } = core.settings.get(run.sessionId);
  const around = opened({ opening: openingOf(core, run, plan)?.text ?? null });
  return countTokens(around) + countTokens(besides({ carried })) + (afterCompaction === null ? 0 : HOOK_TOKENS);
}

/** Whether neither a summariser nor a function would be asked. */
function isBefore(plan: Plan): boolean {
  return plan.kind === "nothing" && (plan.reason === "empty" || plan.reason === "under-threshold");
}
