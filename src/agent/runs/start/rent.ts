/** Weighs the rent of a session's active view, under its configured policy and prices. */
import {
  headTokensOf,
  weighRent,
  weighTail,
  type Rent,
  type RentedView,
  type RentTerms,
  type When,
} from "../../../steps/decide/decide.ts";
import type { Policy } from "../../../steps/plan/policy.ts";
import type { Core } from "../../core.ts";

/** Tokens of a summariser's prompt beside the source. */
const PROMPT_TOKENS = 700;

/** Null for a session with a fixed threshold, or without messages. With warm caches it reads no row. */
export function rentNow(core: Pick<Core, "settings" | "memory">, sessionId: string): Rent | null {
  const { policy, when } = core.settings.get(sessionId);
  if (policy === null || when?.rule !== "rent") return null;
  const view = core.memory.session(sessionId).active.rented();
  return view === null ? null : weighRent(view, termsOf(policy, when, view));
}

function termsOf(policy: Policy, { prices }: Pick<When, "prices">, view: RentedView): RentTerms {
  return {
    prices,
    headTokens: headTokensOf(view.steps, policy),
    tailTokens: policy.tailTokenBudget,
    overhangTokens: Math.max(0, weighTail(view, policy).kept - policy.tailTokenBudget),
    summaryTokens: policy.stackTokens,
    answerTokens: policy.summaryTokens,
    promptTokens: PROMPT_TOKENS,
  };
}
