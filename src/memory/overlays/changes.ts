/**
 * The history of an overlay's state, stored with its row.
 *
 * Records each change of state and reads the state at any earlier time. Time is counted in overlays instead of by a
 * clock. `afterN` is the number of the session's newest overlay when the change happened, so "right after overlay n was
 * added" has one exact meaning. It is safe because changes are append-only and written in the transaction of the change
 * itself.
 */
import type { OverlayRow } from "../statements.ts";

/**
 * Only an `active` overlay is ever shown. A `proposed` one waits for a person, and `notes` are a text that may become one. The others are kept
 * as history.
 */
export type OverlayState = "proposed" | "notes" | "active" | "rolled-back" | "invalidated";

export interface OverlayChange {
  readonly state: OverlayState;
  /** The number of the session's newest overlay when the change happened. */
  readonly afterN: number;
  /** Epoch ms. */
  readonly at: number;
}

/** The changes in order, oldest first. Empty for an overlay in force since it was added. */
export function parseChanges(row: Pick<OverlayRow, "changes">): OverlayChange[] {
  return JSON.parse(row.changes) as OverlayChange[];
}

/** The row's columns after one more change. */
export function addChange(row: Pick<OverlayRow, "changes">, change: OverlayChange): { state: string; changes: string } {
  return { state: change.state, changes: JSON.stringify([...parseChanges(row), change]) };
}

/** Whether the overlay was in force right after the session's `n`-th overlay was added. */
export function wasInForce(row: Pick<OverlayRow, "n" | "changes">, n: number): boolean {
  if (row.n > n) return false;
  const last = parseChanges(row).findLast((change) => change.afterN < n);
  return last === undefined || last.state === "active";
}
