/** Asserts that work takes time in proportion to its input, on any machine. It compares two sizes in one run. */
import { expect } from "vitest";
import { everything } from "./tries.ts";

/** Rounds that are always measured, and the most rounds on a busy machine. A disturbance is absent in at least one round, and non-linear work is slow in all. */
const ROUNDS = everything ? 5 : 1;
const MOST_ROUNDS = 25;
const TIMES = 8;
/** Inputs of more than this are an eighth as large in `npm test`, where all but the mildest growth shows as well. */
const SMALL = 500;
const SHARE = everything ? 1 : 8;
/** Linear work takes as long for both, and quadratic work eight times as long for the large input. */
const MOST_GROWTH = 3;

/**
 * `make` returns an input of a size. Its own time does not count. The larger input is eight times as large, and its time is compared with
 * that of the smaller one eight times in turn, so that a busy machine and the collector of garbage disturb both alike.
 */
export function expectLinear<Input>(
  make: (size: number) => Input,
  work: (input: Input) => unknown,
  fullSize: number,
): void {
  const size = Math.max(Math.min(fullSize, SMALL), Math.ceil(fullSize / SHARE));
  const inputs = { small: make(size), large: make(TIMES * size) };
  const fastest = { small: Infinity, large: Infinity };
  work(inputs.small);
  for (
    let round = 0;
    round < ROUNDS || (round < MOST_ROUNDS && fastest.large / fastest.small >= MOST_GROWTH);
    round++
  ) {
    // Alternates and keeps the fastest of all, because other work on the machine only adds time.
    for (const [each, times] of [
      ["small", TIMES],
      ["large", 1],
    ] as const) {
      const began = performance.now();
      for (let n = 0; n < times; n++) work(inputs[each]);
      fastest[each] = Math.min(fastest[each], performance.now() - began);
    }
  }
  const told = `${TIMES} times ${size}: ${fastest.small.toFixed(2)} ms, ${TIMES * size} at once: ${fastest.large.toFixed(2)} ms`;
  expect(fastest.large / fastest.small, told).toBeLessThan(MOST_GROWTH);
}
