/** How much longer a work takes on more: for tests that hold it to linear time on any machine, however busy. */

const ROUNDS = 5;

/**
 * The time on `times` as much, as a multiple of the time on `size`: about `times` where it is linear, and its square where
 * it is quadratic. Of several rounds in turn the fastest count, because what else the machine does only adds.
 */
export function growthOf(work: (size: number) => void, size: number, times: number): number {
  const [small, large]: [number[], number[]] = [[], []];
  work(size);
  for (let round = 0; round < ROUNDS; round++) {
    small.push(timeOf(work, size));
    large.push(timeOf(work, size * times));
  }
  return Math.min(...large) / Math.min(...small);
}

function timeOf(work: (size: number) => void, size: number): number {
  const began = performance.now();
  work(size);
  return performance.now() - began;
}
