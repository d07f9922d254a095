/**
 * Repeatable pseudo-random numbers from a seed.
 *
 * Good enough to pick operations with, and not for secrets.
 */

export interface Random {
  /** A whole number from 0, below `end`. */
  below(end: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
  chance(share: number): boolean;
}

/** Mulberry32. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    below,
    pick: <T>(from: readonly [T, ...T[]]): T => from[below(from.length)] ?? from[0],
    chance: (share) => next() < share,
  };
}
