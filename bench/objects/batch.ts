/** Most operations of one timing. Appending operations have a lower limit, because each message makes the view longer. */
export const MOST_AT_ONCE = 1_000;
export const MOST_APPENDED = 30;
/**
 * Operations before the first timed one. The very first is untypical, because after a deletion an append of 0.32 reads the whole path once.
 */
export const WARM_UPS = 3;

/**
 * How many operations of `msEach` are timed together, so that the clock's resolution is a small part of the time. At least one, and one
 * where `stretchMs` is 0.
 */
export function batchOf(
  msEach: number,
  { stretchMs, most }: { readonly stretchMs: number; readonly most: number },
): number {
  if (stretchMs === 0) return 1;
  return msEach * most <= stretchMs ? most : Math.max(1, Math.ceil(stretchMs / msEach));
}
