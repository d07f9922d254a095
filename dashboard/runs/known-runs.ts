/**
 * The page's knowledge of runs, and the rule that decides between two states of one run. Pure.
 *
 * The ledger is the truth. Each opening of the connection asks it (`liveRuns`), and every event shows its state. The newest state therefore
 * holds, and an outcome is final. Runs that were live when the connection was lost are unsure until the ledger answers. A run that it then
 * does not list has ended.
 */
import type { RunEvent } from "../../src/agent/events.ts";

export type KnownRuns = ReadonlyMap<string, RunEvent>;

/** Returns the newest state of each run. `told` is in the order of arrival. */
export function learn(known: KnownRuns, told: readonly RunEvent[]): KnownRuns {
  const next = new Map(known);
  for (const event of told) {
    // An answer may have been on its way while the run ended.
    if (event.outcome !== null || next.get(event.runId)?.outcome == null) next.set(event.runId, event);
  }
  return next;
}

/** Returns the runs without those that may have ended without an event. */
export function forgetLive(known: KnownRuns): KnownRuns {
  return new Map([...known].filter(([, { outcome }]) => outcome !== null));
}

export function liveIds(known: KnownRuns): string[] {
  return [...known.values()].filter(({ outcome }) => outcome === null).map(({ runId }) => runId);
}
