/** Weighs the rents of a session's active view, under its configured policy and prices. */
import {
  headTokensOf,
  weighRents,
  weighTail,
  withoutMasks,
  type RentedView,
  type Rents,
  type RentTerms,
} from "../../../steps/decide/rent.ts";
import type { Policy } from "../../../steps/plan/policy.ts";
import type { When } from "../../../steps/decide/when.ts";
import type { Core } from "../../core.ts";

/** Tokens of a summariser's prompt beside the source. */
const PROMPT_TOKENS = 700;

/** Null for a session with a fixed threshold, or without messages. With warm caches it reads no row. */
export function rentsNow(core: Pick<Core, "settings" | "memory" | "hosted">, sessionId: string): Rents | null {
  const { policy, when } = core.settings.get(sessionId);
  if (policy === null || when?.rule !== "rent") return null;
  const view = core.memory.session(sessionId).masks.rented();
  if (view === null) return null;
  const rents = weighRents(view, termsOf(policy, when, view));
  return core.hosted.get(sessionId)?.isMasked === false ? withoutMasks(rents) : rents;
}

/**
 * The least that a mask frees, or that is added before one that frees less. Without it, edits would come at nearly every step where a
 * prompt has no cache. An edit sends the protected end anew, so half of that is little, whatever the ceiling.
 */
export function leastMaskTokens({ minSpanTokens, tailTokenBudget }: Policy): number {
  return Math.min(minSpanTokens, Math.ceil(tailTokenBudget / 2));
}

function termsOf(policy: Policy, { prices }: Pick<When, "prices">, view: RentedView): RentTerms {
  return {
    prices,
    protectTokens: policy.tailTokenBudget,
    leastTokens: leastMaskTokens(policy),
    headTokens: headTokensOf(view.steps, policy),
    tailTokens: policy.tailTokenBudget,
    overhangTokens: Math.max(0, weighTail(view, policy).kept - policy.tailTokenBudget),
    summaryTokens: policy.stackTokens,
    answerTokens: policy.summaryTokens,
    promptTokens: PROMPT_TOKENS,
  };
}
