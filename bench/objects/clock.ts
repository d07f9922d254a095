/**
 * Times shorter than the platform's millisecond.
 *
 * The clock of a Worker ticks once a millisecond. So a measurement begins at a tick, and its end is placed between two
 * ticks by how often the clock can be read until the next one, over how often it can be read in a whole one. That keeps
 * the thread busy for a tick or two around the work, which nobody waits for.
 */

/** Of the first measurements each one reads a whole tick, later ones now and then: by then code is compiled. */
const WARM_UP = 64;
const CALIBRATE_EVERY = 16;
/** Whole ticks that are read where one alone is not to be trusted. */
const AGAIN = 4;

let measurements = 0;

/** The most reads seen in one tick: fewer mean that the thread was held up, or its code not yet compiled. */
let readsPerTick = 0;

/** Milliseconds that the work took, to about a hundredth. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  spinToTick();
  measurements += 1;
  if (measurements <= WARM_UP || measurements % CALIBRATE_EVERY === 0) calibrate();
  const start = performance.now();
  await work();
  const { reads } = spinToTick();
  const ms = performance.now() - start;
  // A part of a tick cannot hold more than a whole one: the clock is read faster now than when that was last looked at.
  if (reads > readsPerTick) readAgain();
  return Math.max(0, ms - Math.min(1, reads / readsPerTick));
}

/** For who measures seldom: what a whole tick holds is not as it was long ago. */
export function readAgain(): void {
  for (let tick = 0; tick < AGAIN; tick++) calibrate();
}

function calibrate(): void {
  const { reads, ticks } = spinToTick();
  if (ticks === 1) readsPerTick = Math.max(readsPerTick, reads);
}

/** Waits for the clock to change: how often it was read until then, and by how many milliseconds it changed. */
function spinToTick(): { readonly reads: number; readonly ticks: number } {
  const now = performance.now();
  let reads = 0;
  while (performance.now() === now) reads += 1;
  return { reads, ticks: performance.now() - now };
}
