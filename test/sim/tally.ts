/** Counts of a simulation. Plain data, because it crosses from the platform's runtime to the script that prints it. */

export interface Tally {
  readonly operations: Record<string, number>;
  /** Operations that were refused, by the error's code. */
  readonly refused: Record<string, number>;
  readonly outcomes: Record<string, number>;
  readonly answers: Record<string, number>;
  /** Checks made, by invariant. */
  readonly checks: Record<string, number>;
  /** How often a state was reached that an invariant is about. */
  readonly met: Record<string, number>;
}

export function emptyTally(): Tally {
  return { operations: {}, refused: {}, outcomes: {}, answers: {}, checks: {}, met: {} };
}

export function count(counts: Record<string, number>, what: string, by = 1): void {
  counts[what] = (counts[what] ?? 0) + by;
}

export function addTally(to: Tally, more: Tally): void {
  for (const [part, counts] of Object.entries(more) as [keyof Tally, Record<string, number>][]) {
    for (const [what, by] of Object.entries(counts)) count(to[part], what, by);
  }
}
