/**
 * Token budgets for summarising: for one session over its life, and for all sessions of an agent in one UTC day.
 *
 * Validates the budget and tells whether it is spent. src/memory/runs/spend.ts counts the spend. The budget is checked
 * before a run asks a model and never in the middle. A run that began is not cut off, so runs that are under
 * way may exceed the budget.
 */
import { checkFields, checkWhole } from "../../known-fields.ts";

/** Tokens in and out of the summariser. Null means without bound. */
export interface Budget {
  /** Tokens for one session, over its whole life. */
  readonly sessionTokens: number | null;
  /** Tokens for all sessions of the agent on one day (UTC). */
  readonly dayTokens: number | null;
}

export type BudgetOptions = { readonly [Key in keyof Budget]?: Budget[Key] | undefined };

/** The tokens spent by the session so far, and by every session today. */
export interface Spend {
  /** Tokens of this session. */
  readonly sessionTokens: number;
  /** Tokens of all sessions of the agent today (UTC). */
  readonly dayTokens: number;
}

/** Throws `invalid_options`. */
export function resolveBudget(options: BudgetOptions = {}): Budget {
  checkFields("budget", options, { sessionTokens: true, dayTokens: true });
  const { sessionTokens = null, dayTokens = null } = options;
  for (const [name, value] of Object.entries({ sessionTokens, dayTokens })) {
    if (value !== null) checkWhole(`budget.${name}`, value, 0);
  }
  return { sessionTokens, dayTokens };
}

/** Explains why no more may be spent now, with advice. Null while some budget is left. */
export function explainSpent(budget: Budget, spend: Spend): string | null {
  if (budget.sessionTokens !== null && spend.sessionTokens >= budget.sessionTokens) {
    return `This session's summaries cost ${spend.sessionTokens} of ${budget.sessionTokens} tokens: raise budget.sessionTokens.`;
  }
  if (budget.dayTokens !== null && spend.dayTokens >= budget.dayTokens) {
    return `This agent's summaries cost ${spend.dayTokens} of ${budget.dayTokens} tokens today (UTC): raise budget.dayTokens, or wait for tomorrow.`;
  }
  return null;
}

const DAY_MS = 86_400_000;

/** The UTC day of a time in epoch ms, counted from 1970. */
export function utcDay(now: number): number {
  return Math.floor(now / DAY_MS);
}
