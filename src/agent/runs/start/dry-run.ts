/** The plan that a run would make of a branch now. It uses the run's own planning code and writes nothing. */
import { MAX_OUTLINE_BYTES, MAX_OUTLINE_ROWS } from "../../../limits.ts";
import type { Outline } from "../../../steps/plan/outline.ts";
import { planCut, type Plan, type PlanOptions } from "../../../steps/plan/plan.ts";
import type { Policy } from "../../../steps/plan/policy.ts";
import { unseenTokens } from "../../reports/usage.ts";
import type { Needs } from "../../core.ts";

export interface DryRunOptions extends PlanOptions {
  readonly policy: Policy;
  /** The active branch by default. */
  readonly leafId?: string | undefined;
}

/** Null for a session without messages. Reads a row per visible element of the branch. Throws `unknown_leaf`. */
export function planNow(
  core: Needs<"memory" | "settings" | "usage">,
  sessionId: string,
  { policy, leafId, ...options }: DryRunOptions,
): { readonly outline: Outline; readonly plan: Plan } | null {
  const outline = outlineNow(core, sessionId, leafId);
  return outline === null ? null : { outline, plan: planCut(outline, policy, options) };
}

/** The outline of a branch as a run reads it. Null for a session without messages. Throws `unknown_leaf`. */
export function outlineNow(
  core: Needs<"memory" | "settings" | "usage">,
  sessionId: string,
  leafId: string | undefined,
): Outline | null {
  const history = core.memory.session(sessionId);
  const overheadTokens = unseenTokens(core, sessionId, history.tokens(leafId));
  return history.outline(leafId, { overheadTokens, maxRows: MAX_OUTLINE_ROWS, maxBytes: MAX_OUTLINE_BYTES });
}
