/**
 * Makes views of different policies equally large, so that what is compared is not who keeps more.
 *
 * What a view weighs after a compaction is head, summary and tail; only the tail is free. Its budget is corrected by half of what the
 * view missed, each time, and by all of it the first time: the misses then cancel out, and the mean comes near what is wanted
 * whatever the others weigh.
 */
import type { Terms } from "./host.ts";

const CORRECTION = 0.5;
/** A tail within these shares of the threshold leaves something to compact, under any policy. */
const LEAST = 0.02;
const MOST = 0.6;

export class Tail {
  readonly #terms: Terms;
  #wanted: number;
  #correction = 1;

  /** Begins with two thirds of what the view should weigh. */
  constructor(terms: Terms) {
    this.#terms = terms;
    this.#wanted = (terms.afterTokens * 2) / 3;
  }

  /** Tokens, for the next compaction. */
  get tokens(): number {
    const { thresholdTokens } = this.#terms;
    return Math.round(Math.min(Math.max(this.#wanted, thresholdTokens * LEAST), thresholdTokens * MOST));
  }

  /** Is told what the view weighed after a compaction with that tail. */
  steer(weighed: number): void {
    const { thresholdTokens, afterTokens } = this.#terms;
    const wanted = this.#wanted + (afterTokens - weighed) * this.#correction;
    this.#correction = CORRECTION;
    // A policy that cannot come down to what is wanted must not be held back for ever once it can.
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
