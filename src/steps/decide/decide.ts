/**
 * Decides whether a session is compacted now: start, wait with a reason, or idle.
 *
 * Checks the known conditions in order. A threshold is a ceiling, and a view over it is due. With `auto` a view is also
 * due once its rent is (rent.ts). It reads nothing itself. A condition that costs rows is passed as a function and
 * called only when needed. Soft reasons, which concern cost and patience, count only up to the hard line (decision 8). A
 * live run, and a last run without effect after which nothing grew, count above it too.
 */
import type { Rents } from "./rent.ts";
import { waitFor, type Waiting } from "./why-not.ts";

export interface Situation {
  /** Null for a session without messages. */
  readonly leafId: string | null;
  readonly sessionId: string;
  readonly hasEnded: boolean;
  /** The provider's predicted count for the view. */
  readonly tokens: number;
  /** Null when the session never compacts by itself. */
  readonly lines: { readonly thresholdTokens: number; readonly hardTokens: number } | null;
  /** Null where only the threshold counts. */
  readonly rents: Rents | null;
  /** The live run of this branch. */
  readonly live: () => { readonly id: string; readonly isWaiting: boolean } | null;
  /** Why the previous run keeps the trigger quiet at this size. */
  readonly quiet: () => Waiting | null;
  /** Why the summariser is not asked, or why a compaction of this size would be a loss. */
  readonly obstacle: () => Waiting | null;
  /** Whether a summary is at hand that needs no model. An obstacle does not delay it. */
  readonly isServed: () => boolean;
  /** The result of a plan, after a run that found nothing to do. */
  readonly nothingToDo: () => Waiting | null;
}

/** `idle` means that nothing starts by itself and nothing waits, because there is no policy. */
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
  const isDue = rents?.summary.isDue === true;
  if (!isOver && !isDue) return wait(notDue(tokens, lines.thresholdTokens, rents));
  const live = situation.live();
  if (live !== null) return wait(atWork(live));
  const quiet = situation.quiet();
  if (quiet !== null) return wait(quiet);
  const postponed = tokens > lines.hardTokens ? null : situation.obstacle();
  const waiting = postponed !== null && situation.isServed() ? null : (postponed ?? situation.nothingToDo());
  // A view that its size alone makes due has not paid for its edit yet.
  return waiting === null ? { kind: "start", trigger: isDue ? "rent" : "threshold" } : wait(waiting);
}

/**
 * Whether older outputs are masked now. A mask needs no summariser. But while a run is live, its summary will hide the
 * outputs anyway.
 */
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
