/**
 * Measures times shorter than the platform's millisecond.
 *
 * The clock of a Worker ticks once a millisecond. So a measurement begins at a tick. Its end is placed within a tick by counting clock
 * reads until the next tick, over the reads of a whole tick. That keeps the thread busy for a tick or two around the work, and nothing
 * waits for it.
 */

/** The first measurements each calibrate on a whole tick, until the code is compiled. Later ones calibrate now and then. */
const WARM_UP = 64;
const CALIBRATE_EVERY = 16;
/** Whole ticks that are read where one alone is not reliable. */
const AGAIN = 4;

let measurements = 0;

/** The most reads seen in one tick. Fewer reads mean that the thread was held up, or that its code was not yet compiled. */
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
  // A part of a tick cannot hold more reads than a whole one, so clock reads are faster now than at the last calibration.
  if (reads > readsPerTick) readAgain();
  return Math.max(0, ms - Math.min(1, reads / readsPerTick));
}

/** For rare measurements, because an old calibration no longer holds. */
export function readAgain(): void {
  for (let tick = 0; tick < AGAIN; tick++) calibrate();
}

function calibrate(): void {
  const { reads, ticks } = spinToTick();
  if (ticks === 1) readsPerTick = Math.max(readsPerTick, reads);
}

/** Waits for the clock to change. Returns the reads until then, and the milliseconds by which it changed. */
function spinToTick(): { readonly reads: number; readonly ticks: number } {
  const now = performance.now();
  let reads = 0;
  while (performance.now() === now) reads += 1;
  return { reads, ticks: performance.now() - now };
}
