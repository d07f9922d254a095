/**
 * What the page knows of runs, and which of two accounts of one run holds. Pure.
 *
 * The ledger is the truth. It is asked at each opening of the connection (`liveRuns`), and every event is a picture of it: so
 * the newest account holds, and an outcome is final. What was live when the connection was lost is unsure until the ledger
 * was asked again; what it then does not name has ended.
 */
import type { RunEvent } from "../../src/agent/events.ts";

export type KnownRuns = ReadonlyMap<string, RunEvent>;

/** The newest account of each run, told in this order. */
export function learn(known: KnownRuns, told: readonly RunEvent[]): KnownRuns {
  const next = new Map(known);
  for (const event of told) {
    // An answer may have been under way while the run ended.
    if (event.outcome !== null || next.get(event.runId)?.outcome == null) next.set(event.runId, event);
  }
  return next;
}

/** Without those that may have ended unheard. */
export function forgetLive(known: KnownRuns): KnownRuns {
  return new Map([...known].filter(([, { outcome }]) => outcome !== null));
}

export function liveIds(known: KnownRuns): string[] {
  return [...known.values()].filter(({ outcome }) => outcome === null).map(({ runId }) => runId);
}
