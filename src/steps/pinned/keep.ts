/** What stands beside a summary, and what the two of them together keep of the source. */
import { SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import { NO_FACTS, type Facts, type Pinned } from "./fact.ts";
import { pickPinned } from "./pick.ts";
import { renderPinned } from "./render.ts";
import { sayingIn } from "./said.ts";
import { estimateTokens } from "../tokens.ts";
import { scoreSurvival, type Survival } from "./survival.ts";

/** Pins what the summary itself does not say, and the rules, within `budgetTokens`, and scores the whole. */
export function keepFacts(summary: string, facts: Facts, budgetTokens: number): { pinned: Pinned; survival: Survival } {
  const pinned = pickPinned(facts, { budgetTokens, omit: sayingIn(summary) });
  return { pinned, survival: scoreSurvival(`${summary}\n${renderPinned(pinned)}`, facts) };
}

/**
 * As {@link keepFacts}, so that what is pinned does not make an overlay larger than the span it replaces (V3). Rules are not
 * left out for that: an overlay that has no room for them does not shrink the view, and the fence says so.
 */
export function pinWithin(
  summary: string,
  facts: Facts,
  budget: { readonly spanTokens: number; readonly pinnedTokens: number },
): { pinned: Pinned; survival: Survival } {
  const room = budget.spanTokens - estimateTokens(summary) - SUMMARY_FRAME_TOKENS;
  const rules = pickPinned({ ...NO_FACTS, rules: facts.rules }, { budgetTokens: budget.pinnedTokens });
  const least = estimateTokens(renderPinned(rules));
  return keepFacts(summary, facts, Math.max(least, Math.min(budget.pinnedTokens, room)));
}
