/** What stands beside a summary, and what the two of them together keep of the source. */
import { SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import { NO_FACTS, type Facts, type Pinned } from "./fact.ts";
import { pickPinned, type PickOptions } from "./pick.ts";
import { renderPinned } from "./render.ts";
import { sayingIn } from "./said.ts";
import type { CountTokens } from "../message/measure.ts";
import { scoreSurvival, type Survival } from "./survival.ts";

/** Pins what the summary itself does not say, and the rules, within the budget, and scores the whole. */
export function keepFacts(
  summary: string,
  facts: Facts,
  budget: Pick<PickOptions, "budgetTokens" | "countTokens">,
): { pinned: Pinned; survival: Survival } {
  const pinned = pickPinned(facts, { ...budget, omit: sayingIn(summary) });
  return { pinned, survival: scoreSurvival(`${summary}\n${renderPinned(pinned)}`, facts) };
}

/** What may stand beside a summary, and the size of what both replace. */
export interface PinBudget {
  readonly spanTokens: number;
  readonly pinnedTokens: number;
  readonly countTokens: CountTokens;
}

/**
 * As {@link keepFacts}, so that what is pinned does not make an overlay larger than the span it replaces (V3). Rules are not
 * left out for that: an overlay that has no room for them does not shrink the view, and the fence says so.
 */
export function pinWithin(
  summary: string,
  facts: Facts,
  { spanTokens, pinnedTokens, countTokens }: PinBudget,
): { pinned: Pinned; survival: Survival } {
  const room = spanTokens - countTokens(summary) - SUMMARY_FRAME_TOKENS;
  const rules = pickPinned({ ...NO_FACTS, rules: facts.rules }, { budgetTokens: pinnedTokens, countTokens });
  const least = countTokens(renderPinned(rules));
  return keepFacts(summary, facts, { budgetTokens: Math.max(least, Math.min(pinnedTokens, room)), countTokens });
}
