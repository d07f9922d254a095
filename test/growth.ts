/** Asserts that work takes time in proportion to its input, on any machine. It compares two sizes in one run. */
import { expect } from "vitest";

/** Rounds, and the most rounds on a busy machine. A disturbance is absent in at least one round, and non-linear work is slow in all. */
const ROUNDS = 5;
const MOST_ROUNDS = 25;
const TIMES = 8;
/** Between linear growth and quadratic growth. */
const MOST_GROWTH = 3 * TIMES;

/** `make` returns an input of a size. Its own time does not count. The larger one is eight times `size`. */
export function expectLinear<Input>(
  make: (size: number) => Input,
  work: (input: Input) => unknown,
  size: number,
): void {
  const inputs = { small: make(size), large: make(TIMES * size) };
  const fastest = { small: Infinity, large: Infinity };
  work(inputs.small);
  for (
    let round = 0;
    round < ROUNDS || (round < MOST_ROUNDS && fastest.large / fastest.small >= MOST_GROWTH);
    round++
  ) {
    // Alternates and keeps the fastest of all, because other work on the machine only adds time.
    for (const each of ["small", "large"] as const) {
      const began = performance.now();
      work(inputs[each]);
      fastest[each] = Math.min(fastest[each], performance.now() - began);
    }
  }
  const told = `${size}: ${fastest.small.toFixed(2)} ms, ${TIMES} times as much: ${fastest.large.toFixed(2)} ms`;
  expect(fastest.large / fastest.small, told).toBeLessThan(MOST_GROWTH);
}
