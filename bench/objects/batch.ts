/** Operations of one time: of those that append there are fewer, because each message makes the view longer. */
export const MOST_AT_ONCE = 1_000;
export const MOST_APPENDED = 30;
/** Operations before the first that is timed. The first of all is no measure: after a deletion an append of 0.32 reads the whole path once. */
export const WARM_UPS = 3;

/** How many operations of `msEach` are timed at once, so that the clock's resolution is a small part of the time: one at least, and one where `stretchMs` is 0. */
export function batchOf(
  msEach: number,
  { stretchMs, most }: { readonly stretchMs: number; readonly most: number },
): number {
  if (stretchMs === 0) return 1;
  return msEach * most <= stretchMs ? most : Math.max(1, Math.ceil(stretchMs / msEach));
}
