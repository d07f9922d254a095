/** Removes a session's data beside its messages when all of them are removed, for every caller. */
import type { Core } from "../core.ts";
import { endRun } from "../runs/end-run.ts";
import { measureAfresh } from "../runs/start/trigger.ts";

/**
 * Ends live runs as `stale`, and removes words of the conversation that are stored beside the messages (S2). Call inside the transaction.
 */
export function forgetWhatWasSaid(core: Core, sessionId: string): void {
  const { runs, rooms, hookOutbox } = core;
  for (const run of runs.live(sessionId)) endRun(core, run, { kind: "stale", reason: "gone" });
  runs.forgetWords(sessionId);
  rooms.cleared?.(sessionId);
  hookOutbox.removeSession(sessionId);
  measureAfresh(core, sessionId);
}
