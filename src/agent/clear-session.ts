/** What goes with a session's messages when all of them are taken away, whoever takes them. */
import type { Core } from "./core.ts";
import { endRun } from "./runs/end-run.ts";
import { measureAfresh } from "./runs/trigger.ts";

/** Ends live runs as `stale`, and forgets the words of others that are kept beside the messages (S2). Call inside the transaction. */
export function forgetWhatWasSaid(core: Core, sessionId: string): void {
  const { runs, rooms, hookOutbox } = core;
  for (const run of runs.live(sessionId)) endRun(core, run, { kind: "stale", reason: "gone" });
  runs.forgetWords(sessionId);
  rooms.cleared(sessionId);
  hookOutbox.removeSession(sessionId);
  measureAfresh(core, sessionId);
}
