/** Checks that every message is stored after a kill, once and unchanged. */

/**
 * Counts messages that are lost, altered or extra. `stored` holds the messages found by the ids of `said`, and `rows` counts all messages
 * in the database.
 */
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
