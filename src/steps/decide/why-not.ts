/**
 * The closed list of reasons for not compacting, shared by the trigger, a dry run and a call by hand, with one line of
 * advice for each.
 */
import type { NothingReason } from "../plan/plan.ts";

/** Reasons of cost and patience. They do not count over the hard line, or when a person insists. */
export type SoftReason = "cooling-down" | "breaker-open" | "budget-spent";

/** Why nothing was compacted, or will be. */
export type WhyNot =
  | NothingReason
  | SoftReason
  | "no-gap"
  | "no-overlay"
  | "would-not-shrink"
  | "session-ended"
  | "run-in-flight"
  | "approval-pending"
  | "up-to-date"
  | "not-due";

/** Why a session is not compacted now. */
export interface Waiting {
  /** The reason as a code. */
  readonly reason: WhyNot;
  /** The finding, with its numbers. */
  readonly detail: string;
  /** The advice for a person. */
  readonly advice: string;
}

const ADVICE = {
  empty: "Append a message first.",
  "under-threshold": "Nothing to do. To compact earlier, lower the threshold, or call compact.",
  "not-due": "Nothing to do: to wait costs less. To compact all the same, call compact.",
  "too-short": "Lower protectHead, minTailMessages or tailTokenBudget, so that something lies between head and tail.",
  "too-small": "Wait for more messages, lower minSpanTokens, or call compact.",
  "window-too-small":
    "Give the summariser a larger window (PALIMPSEST_MODEL_WINDOW says what it has), or lower summaryTokens.",
  "no-gap": "Nothing to do: an edit under an overlay leaves a gap, and there is none.",
  "not-covered": "Wait for more of the conversation to be covered.",
  "no-overlay": "Compact first: only what is under an overlay can be made anew.",
  "would-not-shrink": "Lower summaryTokens, or wait for more messages: the summary was no smaller than its source.",
  "cooling-down": "Look at why the last run failed (runs), and wait, or call compact.",
  "breaker-open":
    "Restore the summariser and wait for the next probe, or call compact with ignoreBudget: true to ask it now.",
  "budget-spent": "Raise the budget in compactAfter, or call compact with ignoreBudget: true.",
  "session-ended": "Go on in the session that continues it (newestSession).",
  "run-in-flight": "Wait for the run that is at work on this branch, or cancel it.",
  "up-to-date": "Nothing to do: everything is covered already.",
  "approval-pending": "Approve or reject the summary that waits for it.",
} as const satisfies Record<WhyNot, string>;

/** A reason with its finding and advice. */
export function waitFor(reason: WhyNot, detail: string): Waiting {
  return { reason, detail, advice: ADVICE[reason] };
}

const SOFT: ReadonlySet<string> = new Set<SoftReason>(["cooling-down", "breaker-open", "budget-spent"]);

export function isSoft(reason: string): reason is SoftReason {
  return SOFT.has(reason);
}
