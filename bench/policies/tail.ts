/**
 * Makes the views of different policies equally large, so that a comparison does not reward a larger view.
 *
 * A view after a compaction holds head, summary and tail, and only the tail is free. The first time its budget is corrected by the whole
 * miss, later by half of it. So misses cancel out, and the mean comes near the target whatever head and summary weigh.
 */
import type { Terms } from "./host.ts";

const CORRECTION = 0.5;
/** A tail within these shares of the threshold leaves something to compact under any policy. */
const LEAST = 0.02;
const MOST = 0.6;

export class Tail {
  readonly #terms: Terms;
  #wanted: number;
  #correction = 1;

  /** Begins with two thirds of the target. */
  constructor(terms: Terms) {
    this.#terms = terms;
    this.#wanted = (terms.afterTokens * 2) / 3;
  }

  /** Tokens for the next compaction. */
  get tokens(): number {
    const { thresholdTokens } = this.#terms;
    return Math.round(Math.min(Math.max(this.#wanted, thresholdTokens * LEAST), thresholdTokens * MOST));
  }

  /** Corrects the tail by the weight of the view after a compaction with it. */
  steer(weighed: number): void {
    const { thresholdTokens, afterTokens } = this.#terms;
    const wanted = this.#wanted + (afterTokens - weighed) * this.#correction;
    this.#correction = CORRECTION;
    // Bounded, so that a policy that could not come down for a while recovers quickly once it can.
    this.#wanted = Math.min(Math.max(wanted, -thresholdTokens), thresholdTokens);
  }
}

/** The same tail for equal terms. */
export function keepTails(): (terms: Terms) => Tail {
  const tails = new Map<string, Tail>();
  return (terms) => {
    const key = [terms.thresholdTokens, terms.afterTokens, terms.summariser].join(" ");
    const tail = tails.get(key) ?? new Tail(terms);
    tails.set(key, tail);
    return tail;
  };
}
