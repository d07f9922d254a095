/** Whether what was said is still there after a kill, each message once and as it was said. */

/** Messages that are lost or altered, and such as nobody said: `stored` are those said, as they are found by their ids; `rows`, all that the database holds. */
export function countDamaged({
  said,
  stored,
  rows,
}: {
  readonly said: readonly unknown[];
  readonly stored: readonly unknown[];
  readonly rows: number;
}): number {
  const changed = said.filter((message, n) => JSON.stringify(message) !== JSON.stringify(stored[n])).length;
  return changed + Math.max(0, rows - said.length);
}
