/**
 * When an overlay was in force: the changes of its state, in order, with its row.
 *
 * Job: note a change, and tell the state at any earlier time. Time is counted in overlays, not by a clock: `afterN` is the
 * newest overlay of the session when the change happened, so "right after overlay n came" has one exact meaning. Safe
 * because changes are only ever added, in the transaction of the change itself.
 */
import type { OverlayRow } from "../statements.ts";

/** Only an `active` overlay is ever shown; the others are kept for what they say about the past. */
export type OverlayState = "active" | "rolled-back" | "invalidated";

export interface OverlayChange {
  readonly state: OverlayState;
  /** Number of the session's newest overlay when it happened. */
  readonly afterN: number;
  /** Epoch ms. */
  readonly at: number;
}

/** As they happened, oldest first; none of an overlay that is in force since it was added. */
export function parseChanges(row: Pick<OverlayRow, "changes">): OverlayChange[] {
  return JSON.parse(row.changes) as OverlayChange[];
}

/** The row's columns after one more change. */
export function addChange(row: Pick<OverlayRow, "changes">, change: OverlayChange): { state: string; changes: string } {
  return { state: change.state, changes: JSON.stringify([...parseChanges(row), change]) };
}

/** Whether it was ever taken out of force, also where it is back by now. */
export function hasLeftForce(row: Pick<OverlayRow, "changes">): boolean {
  return parseChanges(row).length > 0;
}

/** Whether the overlay was in force right after the session's `n`-th came into force. */
export function wasInForce(row: Pick<OverlayRow, "n" | "changes">, n: number): boolean {
  if (row.n > n) return false;
  const last = parseChanges(row).findLast((change) => change.afterN < n);
  return last === undefined || last.state === "active";
}
