/** Holds a work to time in proportion to its input, on any machine, however busy: two sizes are compared in one run. */
import { expect } from "vitest";

/** Rounds, and how many more on a busy machine: what that adds is gone in one of them, and what is no linear work is slow in all. */
const ROUNDS = 5;
const MOST_ROUNDS = 25;
const TIMES = 8;
/** Between what linear time grows by, and its square. */
const MOST_GROWTH = 3 * TIMES;

/** `make` gives an input of a size; its own time does not count. The larger one is eight times `size`. */
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
    // In turn, and the fastest of all: what else the machine does only adds.
    for (const each of ["small", "large"] as const) {
      const began = performance.now();
      work(inputs[each]);
      fastest[each] = Math.min(fastest[each], performance.now() - began);
    }
  }
  const told = `${size}: ${fastest.small.toFixed(2)} ms, ${TIMES} times as much: ${fastest.large.toFixed(2)} ms`;
  expect(fastest.large / fastest.small, told).toBeLessThan(MOST_GROWTH);
}
