/**
 * Whether a session is compacted now, in one place: start, or wait and why.
 *
 * Job: put what is known in order, first things first. Two modes: a number is a ceiling, and a view over it is due; with `auto` a
 * view is also due once its rent says so (rent.ts). Boundary: reads nothing; what costs a row to know is asked for by a function,
 * only when it comes to that. Safe because the soft reasons, those of cost and patience, count only up to the hard line (decision 8).
 */
import type { Rents } from "./rent.ts";
import { waitFor, type Waiting } from "./why-not.ts";

export interface Situation {
  /** Null for a session without messages. */
  readonly leafId: string | null;
  readonly sessionId: string;
  readonly hasEnded: boolean;
  /** What a provider would count for the view. */
  readonly tokens: number;
  /** Null: never compacts by itself. */
  readonly lines: { readonly thresholdTokens: number; readonly hardTokens: number } | null;
  /** Null where a number is all there is to go by. */
  readonly rents: Rents | null;
  /** The run that is at work on this branch. */
  readonly live: () => { readonly id: string; readonly isWaiting: boolean } | null;
  /** Why the run before keeps the trigger quiet at this size. */
  readonly quiet: () => Waiting | null;
  /** Why the summariser is not asked, or a compaction of this size would be a loss. */
  readonly obstacle: () => Waiting | null;
  /** Whether notes would be the summary: what no model is needed for waits for none. */
  readonly notesServe: () => boolean;
  /** What a plan would find, after a run that found nothing. */
  readonly nothingToDo: () => Waiting | null;
}

/** `idle`: without a policy nothing starts by itself, and nothing waits. */
export type Decision =
  | { readonly kind: "start"; readonly trigger: "threshold" | "rent" }
  | { readonly kind: "wait"; readonly waiting: Waiting }
  | { readonly kind: "idle" };

export function decide(situation: Situation): Decision {
  const { leafId, sessionId, hasEnded, tokens, lines, rents } = situation;
  if (leafId === null) return wait(waitFor("empty", "The session has no messages."));
  if (hasEnded) return wait(waitFor("session-ended", `Session "${sessionId}" was split, and is only read.`));
  if (lines === null) return { kind: "idle" };
  const isOver = tokens > lines.thresholdTokens;
  if (!isOver && rents?.summary.isDue !== true) return wait(notDue(tokens, lines.thresholdTokens, rents));
  const live = situation.live();
  if (live !== null) return wait(atWork(live));
  const quiet = situation.quiet();
  if (quiet !== null) return wait(quiet);
  const postponed = tokens > lines.hardTokens ? null : situation.obstacle();
  const waiting = postponed !== null && situation.notesServe() ? null : (postponed ?? situation.nothingToDo());
  return waiting === null ? { kind: "start", trigger: isOver ? "threshold" : "rent" } : wait(waiting);
}

/** Whether older outputs are masked now. It needs no summariser; but while one is at work, its summary will hide them anyway. */
export function decideMask({ rents, live }: Pick<Situation, "rents" | "live">): boolean {
  return rents?.masks != null && rents.mask.isDue && live() === null;
}

function wait(waiting: Waiting): Decision {
  return { kind: "wait", waiting };
}

function atWork({ id, isWaiting }: { readonly id: string; readonly isWaiting: boolean }): Waiting {
  return isWaiting
    ? waitFor("approval-pending", `The summary of run "${id}" waits for a person.`)
    : waitFor("run-in-flight", `Run "${id}" is at work on this branch.`);
}

function notDue(tokens: number, thresholdTokens: number, rents: Rents | null): Waiting {
  if (rents === null) {
    return waitFor("under-threshold", `The view is ${tokens} tokens; the threshold is ${thresholdTokens}.`);
  }
  const { paid, price } = rents.summary;
  const so = `Carrying it has cost ${Math.round(paid)} of the ${Math.round(price)} that a summary would cost`;
  return waitFor("not-due", `${so}, and the view is ${tokens} tokens; the ceiling is ${thresholdTokens}.`);
}
