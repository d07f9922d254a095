/** The plan that a run would make of a branch now: the same code as the run's own planning, and nothing is written. */
import { HOOK_TOKENS, MAX_OUTLINE_BYTES, MAX_OUTLINE_ROWS } from "../limits.ts";
import type { Outline } from "../steps/outline.ts";
import { planCut, type Plan, type PlanOptions } from "../steps/plan.ts";
import type { Policy } from "../steps/policy.ts";
import { estimateTokens } from "../steps/tokens.ts";
import { besides } from "../steps/view.ts";
import { carriedIn } from "./boundary.ts";
import { unseenTokens } from "./calibration.ts";
import type { Core } from "./core.ts";

export interface DryRunOptions extends PlanOptions {
  readonly policy: Policy;
  /** The active branch by default. */
  readonly leafId?: string | undefined;
}

/** Null for a session without messages. Reads a row for what is visible of the branch. Throws `unknown_leaf`. */
export function planNow(
  core: Core,
  sessionId: string,
  { policy, leafId, ...options }: DryRunOptions,
): { readonly outline: Outline; readonly plan: Plan } | null {
  const history = core.memory.session(sessionId);
  const overheadTokens = unseenTokens(core, sessionId, history.tokens(leafId));
  const outline = history.outline(leafId, {
    overheadTokens,
    maxRows: MAX_OUTLINE_ROWS,
    maxBytes: MAX_OUTLINE_BYTES,
  });
  return outline === null ? null : { outline, plan: planCut(outline, policy, options) };
}

/** Most tokens that stand behind a summary of the session: blocks that are carried, as they are now, and what a caller's code may add. */
export async function weighBesides(core: Core, sessionId: string): Promise<number> {
  const { afterCompaction } = core.settings.get(sessionId);
  const carried = estimateTokens(besides({ carried: await carriedIn(core, sessionId) }));
  return carried + (afterCompaction === null ? 0 : HOOK_TOKENS);
}
