/**
 * How much a name is worth a place beside a summary: how likely it is to be needed soon, for each token it takes.
 *
 * Boundary: numbers of one fact in, a number out. Measured on real sessions, see docs/decisions/0006-pinned-facts.md:
 * how often and how lately a name was said tells best whether it will be said again, and a name that only a tool's
 * output held is half as likely to be used as one that somebody wrote.
 */
import type { FactKind, Fact } from "./fact.ts";
// oxlint-disable-next-line no-restricted-imports -- a length that no budget is held to: see rankFacts
import { estimateTokens } from "../tokens/tokens.ts";

/** What is left of a heat one message later. Half of it is left after 69 messages: about one task of a coding session. */
const FADES_TO = 0.99;
/** Heats below this are nothing; it also keeps the JSON of a fact short. */
const LEAST_HEAT = 0.0001;

/** What one message adds to the heat of a name that somebody wrote in it, and of one that was only in an output. */
export const WRITTEN_HEAT = 1;
export const OUTPUT_HEAT = 0.5;

/** Names that an agent acts on come again; amounts and dates are mostly said once more in passing. */
const KIND_WORTH: Readonly<Partial<Record<FactKind, number>>> = { path: 1.5, id: 1.5, date: 0.8, quantity: 0.5 };

/** Tokens of the separator that each name takes besides its own. */
const SEPARATOR_TOKENS = 0.5;

/** A heat after so many further messages. */
export function fade(heat: number, messages: number): number {
  return Math.round((heat * FADES_TO ** messages) / LEAST_HEAT) * LEAST_HEAT;
}

/** What the loss of a fact would cost, whatever its length. */
export function usefulness(fact: Fact): number {
  return fact.heat * (KIND_WORTH[fact.kind] ?? 1);
}

/**
 * The facts by worth, the highest first. The order in which they come makes no difference. Length is the estimate's, whatever a
 * session counts with: what is kept of a draft is the same for every session that uses it.
 */
export function rankFacts(facts: readonly Fact[]): Fact[] {
  return facts
    .map((fact) => ({ fact, worth: usefulness(fact) / (estimateTokens(fact.value) + SEPARATOR_TOKENS) }))
    .toSorted((one, other) => other.worth - one.worth || settle(one.fact, other.fact))
    .map(({ fact }) => fact);
}

/** Of equal worth, the later said, then by the alphabet: any order will do that is the same each time. */
function settle(one: Fact, other: Fact): number {
  return one.age - other.age || (`${one.kind} ${one.value}` < `${other.kind} ${other.value}` ? -1 : 1);
}
