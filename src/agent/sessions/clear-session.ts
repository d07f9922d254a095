/** Removes a session's data beside its messages when all of them are removed, for every caller. */
import type { Needs } from "../core.ts";

/**
 * Ends live runs as `stale`, and removes words of the conversation that are stored beside the messages (S2). Call inside the transaction.
 */
export function forgetWhatWasSaid(
  core: Needs<"endRun" | "hookOutbox" | "rooms" | "runs" | "thoughts" | "trigger">,
  sessionId: string,
): void {
  const { runs, rooms, hookOutbox } = core;
  for (const run of runs.live(sessionId)) core.endRun(run, { kind: "stale", reason: "gone" });
  runs.forgetWords(sessionId);
  rooms.cleared?.(sessionId);
  hookOutbox.removeSession(sessionId);
  core.thoughts.delete(sessionId);
  core.trigger.measureAfresh(sessionId);
}
