/**
 * Decides whether a session is compacted now: start, wait with a reason, or idle.
 *
 * Checks the known conditions in order. A threshold is a ceiling, and a view over it is due. So is a view with more
 * messages than a session allows. With `auto` a view is also due once its rent is (rent.ts). Several causes may make a
 * view due, and it waits only while each has a reason to. It reads nothing itself. A condition that costs rows is passed as a function and
 * called only when needed. Soft reasons, which concern cost and patience, count only up to the hard line (decision 8). A
 * live run, and a last run without effect after which nothing grew, count above it too.
 */
import { PAID_SHARE, type Rent } from "./rent.ts";
import { waitFor, type Waiting } from "./why-not.ts";

export interface Situation {
  /** Null for a session without messages. */
  readonly leafId: string | null;
  readonly sessionId: string;
  readonly hasEnded: boolean;
  /** The provider's predicted count for the view. */
  readonly tokens: number;
  /** Elements of the view: each visible message, and each summary, counts as one. */
  readonly messages: number;
  /** Null when the session never compacts by itself. */
  readonly thresholds: Thresholds | null;
  /** Null where only the threshold counts. */
  readonly rent: Rent | null;
  /** The live run of this branch. */
  readonly live: () => { readonly id: string; readonly isWaiting: boolean } | null;
  /** Why the previous run keeps the trigger quiet at this size. */
  readonly quiet: (cause: Cause) => Waiting | null;
  /** Why the summariser is not asked. */
  readonly obstacle: () => Waiting | null;
  /** Whether a summary is at hand that needs no model. An obstacle does not delay it. */
  readonly isServed: () => boolean;
  /** The result of a plan, after a run that found nothing to do. */
  readonly nothingToDo: () => Waiting | null;
}

/** What makes a view due: its tokens, its messages, or its rent. */
export type Cause = "threshold" | "messages" | "rent";

export interface Thresholds {
  readonly thresholdTokens: number;
  readonly hardTokens: number;
  /** Null where only tokens count. */
  readonly maxMessages: number | null;
}

/** `idle` means that nothing starts by itself and nothing waits, because there is no policy. */
export type Decision =
  | { readonly kind: "start"; readonly trigger: Cause }
  | { readonly kind: "wait"; readonly waiting: Waiting }
  | { readonly kind: "idle" };

export function decide(situation: Situation): Decision {
  const { leafId, sessionId, hasEnded, thresholds } = situation;
  if (leafId === null) return wait(waitFor("empty", "The session has no messages."));
  if (hasEnded) return wait(waitFor("session-ended", `Session "${sessionId}" was split, and is only read.`));
  if (thresholds === null) return { kind: "idle" };
  const due = causes(situation, thresholds);
  if (due.length === 0) return wait(notDue(situation, thresholds));
  const live = situation.live();
  if (live !== null) return wait(atWork(live));
  let first: Waiting | null = null;
  for (const trigger of due) {
    const waiting = reasonToWait(situation, thresholds, trigger);
    if (waiting === null) return { kind: "start", trigger };
    first ??= waiting;
  }
  return wait(first ?? notDue(situation, thresholds));
}

/** Whether a view of this size is due before anything else is asked. Reads nothing. */
export function isDue(
  { tokens, messages }: Pick<Situation, "tokens" | "messages">,
  thresholds: Omit<Thresholds, "hardTokens">,
): boolean {
  return tokens > thresholds.thresholdTokens || (thresholds.maxMessages !== null && messages > thresholds.maxMessages);
}

/** The causes that make a view due. A view over its threshold whose rent is not due is due by its size alone. */
function causes({ tokens, messages, rent }: Situation, { thresholdTokens, maxMessages }: Thresholds): Cause[] {
  const due: Cause[] = [];
  if (rent?.isDue === true) due.push("rent");
  else if (tokens > thresholdTokens) due.push("threshold");
  if (maxMessages !== null && messages > maxMessages) due.push("messages");
  return due;
}

function reasonToWait(situation: Situation, { hardTokens }: Thresholds, cause: Cause): Waiting | null {
  const quiet = situation.quiet(cause);
  if (quiet !== null) return quiet;
  const postponed = situation.tokens > hardTokens ? null : situation.obstacle();
  return postponed !== null && situation.isServed() ? null : (postponed ?? situation.nothingToDo());
}

function wait(waiting: Waiting): Decision {
  return { kind: "wait", waiting };
}

function atWork({ id, isWaiting }: { readonly id: string; readonly isWaiting: boolean }): Waiting {
  return isWaiting
    ? waitFor("approval-pending", `The summary of run "${id}" waits for a person.`)
    : waitFor("run-in-flight", `Run "${id}" is at work on this branch.`);
}

function notDue({ tokens, messages, rent }: Situation, { thresholdTokens, maxMessages }: Thresholds): Waiting {
  if (rent === null) {
    const size =
      maxMessages === null
        ? `The view is ${tokens} tokens; the threshold is ${thresholdTokens}.`
        : `The view is ${tokens} tokens in ${messages} messages; the bounds are ${thresholdTokens} tokens and ${maxMessages} messages.`;
    return waitFor("under-threshold", size);
  }
  const { paid, price } = rent;
  const so = `Carrying it has cost ${Math.round(paid)} of the ${Math.round(PAID_SHARE * price)} at which a summary is due`;
  return waitFor("not-due", `${so}, and the view is ${tokens} tokens; the ceiling is ${thresholdTokens}.`);
}
