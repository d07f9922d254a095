/** The rents of a session's active view: what its steps weigh, under the policy and the prices that it was configured with. */
import { headTokensOf, weighRents, type Rents, type RentTerms } from "../../steps/decide/rent.ts";
import type { Policy } from "../../steps/plan/policy.ts";
import type { When } from "../../steps/decide/when.ts";
import type { Core } from "../core.ts";

/** Tokens that a summariser is told besides what it reads. */
const PROMPT_TOKENS = 700;

/** Null for a session that goes by a number, or holds nothing. Warm it reads no row. */
export function rentsNow(core: Pick<Core, "settings" | "memory">, sessionId: string): Rents | null {
  const { policy, when } = core.settings.get(sessionId);
  if (policy === null || when?.rule !== "rent") return null;
  const view = core.memory.session(sessionId).masks.rented();
  return view === null ? null : weighRents(view, termsOf(policy, when, headTokensOf(view.steps, policy)));
}

function termsOf(policy: Policy, { prices }: Pick<When, "prices">, headTokens: number): RentTerms {
  return {
    prices,
    protectTokens: policy.tailTokenBudget,
    headTokens,
    tailTokens: policy.tailTokenBudget,
    summaryTokens: policy.stackTokens,
    answerTokens: policy.summaryTokens,
    promptTokens: PROMPT_TOKENS,
  };
}
