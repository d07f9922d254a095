/** What stands beside a summary, and what the two of them together keep of the source. */
import type { Facts, Pinned } from "./fact.ts";
import { pickPinned } from "./pick.ts";
import { renderPinned } from "./render.ts";
import { sayingIn } from "./said.ts";
import { scoreSurvival, type Survival } from "./survival.ts";

/** Pins what the summary itself does not say, within `budgetTokens`, and scores the whole. */
export function keepFacts(summary: string, facts: Facts, budgetTokens: number): { pinned: Pinned; survival: Survival } {
  const pinned = pickPinned(facts, { budgetTokens, omit: sayingIn(summary) });
  return { pinned, survival: scoreSurvival(`${summary}\n${renderPinned(pinned)}`, facts) };
}
