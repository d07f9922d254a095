/** How many operations of `msEach` are timed at once, so that the clock's resolution is a small part of the time: one at least, and one where `stretchMs` is 0. */
export function batchOf(
  msEach: number,
  { stretchMs, most }: { readonly stretchMs: number; readonly most: number },
): number {
  if (stretchMs === 0) return 1;
  return msEach * most <= stretchMs ? most : Math.max(1, Math.ceil(stretchMs / msEach));
}
