/**
 * Times shorter than the platform's millisecond.
 *
 * The clock of a Worker ticks once a millisecond. So a measurement begins at a tick, and its end is placed between two
 * ticks by how often the clock can be read until the next one, over how often it can be read in a whole one. That keeps
 * the thread busy for two or three ticks around the work, which nobody waits for.
 */

/** The most reads seen in one tick: fewer mean that the thread was held up, or its code not yet compiled. */
let readsPerTick = 0;

/** Milliseconds that the work took, to about a hundredth. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  spinToTick();
  const whole = spinToTick();
  if (whole.ticks === 1) readsPerTick = Math.max(readsPerTick, whole.reads);
  const start = performance.now();
  await work();
  const { reads } = spinToTick();
  return Math.max(0, performance.now() - start - Math.min(1, reads / readsPerTick));
}

/** Waits for the clock to change: how often it was read until then, and by how many milliseconds it changed. */
function spinToTick(): { readonly reads: number; readonly ticks: number } {
  const now = performance.now();
  let reads = 0;
  while (performance.now() === now) reads += 1;
  return { reads, ticks: performance.now() - now };
}
