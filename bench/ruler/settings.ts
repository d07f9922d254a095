/**
 * Candidate weights for the choice of names, and what each would score on a source that had no part in choosing it.
 *
 * For each source, the candidate with the best mean over the other sources is taken, and scored on the source that was left out. The mean
 * of those scores is an honest figure for a source that nobody has seen. One weight at a time differs from those of the product. The last
 * candidate has the weights from before heat had a power.
 */
import { WEIGHTS, type Weights } from "../../src/facts/names/choose.ts";
import { mean } from "../drift/measure.ts";

export interface Candidate {
  readonly name: string;
  readonly weights: Weights;
}

/** The product's own weights come first. */
export const CANDIDATES: readonly Candidate[] = [
  { name: "as shipped", weights: WEIGHTS },
  ...vary("lasting", [0, 0.3]),
  ...vary("power", [1, 1.3, 2]),
  ...vary("spread", [0, 0.2]),
  ...vary("name", [0.5]),
  ...vary("word", [0.4, 0.55]),
  ...vary("plain", [0.3]),
  ...vary("series", [0]),
  ...vary("each", [0, 5]),
  { name: "as before", weights: { ...WEIGHTS, lasting: 0.3, power: 1, name: 0.5, word: 0.55 } },
];

function vary(weight: keyof Weights, values: readonly number[]): Candidate[] {
  return values.map((value) => ({ name: `${weight} ${value}`, weights: { ...WEIGHTS, [weight]: value } }));
}

/** The share of open words that each candidate brings back in one session, in the order of {@link CANDIDATES}. */
export interface Scored {
  readonly source: string;
  readonly scores: readonly number[];
}

export interface LeftOut {
  readonly source: string;
  /** The candidate that is best on all other sources. Of equals, the first. */
  readonly chosen: string;
  /** Its mean over the sessions of the source that was left out. */
  readonly score: number;
  /** Means of all candidates over the sessions of that source. */
  readonly scores: readonly number[];
}

export function leaveEachOut(sessions: readonly Scored[]): LeftOut[] {
  const bySource = [...Map.groupBy(sessions, ({ source }) => source)].map(([source, some]) => ({
    source,
    scores: CANDIDATES.map((_, at) => mean(some.map(({ scores }) => scores[at] ?? 0))),
  }));
  return bySource.map(({ source, scores }) => {
    const others = bySource.filter((each) => each.source !== source);
    const means = CANDIDATES.map((_, at) => mean(others.map((each) => each.scores[at] ?? 0)));
    const best = means.indexOf(Math.max(...means));
    return { source, chosen: CANDIDATES[best]?.name ?? "", score: scores[best] ?? 0, scores };
  });
}
