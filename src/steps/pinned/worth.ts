/** How much a fact is worth a place beside a summary. */
import { HEAT_FADES_BY } from "../../limits.ts";
import { estimateTokens } from "../tokens.ts";
import type { Fact } from "./fact.ts";

/** What is left of a heat after so many messages. */
export function fade(heat: number, messages: number): number {
  return heat * HEAT_FADES_BY ** messages;
}

/** Most valuable first, for each token that it takes. */
export function byWorth(one: Fact, other: Fact): number {
  return worth(other) - worth(one) || one.age - other.age || (one.value < other.value ? -1 : 1);
}

export function worth(fact: Fact): number {
  return fact.heat / Math.sqrt(estimateTokens(fact.value) + 1);
}
