/**
 * The budget of the names beside a summary, in tokens.
 *
 * Names take what the summaries of a view leave of their budget. By rent, a view may come over its ceiling before the
 * rent has paid for a summary. Until then a conversation is short or has met a large output, and often it ends soon.
 * So the first summary of such a view gets half of the budget for its names, and the next one all of it.
 * docs/decisions/0018 says how that was measured.
 */
import { SUMMARIES_IN_A_STACK } from "../limits.ts";
import type { Pinned } from "./fact.ts";
import { NAME_CHARS_PER_TOKEN } from "./keep.ts";
import { LAST_ACTION } from "../steps/draft/summary-shape.ts";

export const EARLY_NAMES_SHARE = 0.5;

export interface StackFill {
  /** Tokens of all summaries of a view with their names. */
  readonly stackTokens: number;
  /** Tokens that the summaries take. */
  readonly takenTokens: number;
  /** True for the first summary of a view that the rent has not paid for. */
  readonly isEarly: boolean;
  /** Default {@link EARLY_NAMES_SHARE}. */
  readonly earlyShare?: number;
}

/** Whether a summary takes more than the share of one. That of no model may, because its one sentence always stays. */
export function exceedsShare(summary: string, stackTokens: number): boolean {
  return summary.length * SUMMARIES_IN_A_STACK > stackTokens * NAME_CHARS_PER_TOKEN;
}

/**
 * Whether a view without the sentences of a summary still tells where the work stands. Names must say what it is about, and an open task,
 * a failure, a plan or an open call what is left of it, unless the messages behind a last action do.
 */
export function tellsWithout(summary: string, { names, facts, loaded }: Pinned): boolean {
  if (names.length === 0) return false;
  const isOpen = facts.some(({ kind }) => kind === "task" || kind === "failure");
  const isPlanned = loaded.some(({ kind, text }) => (kind === "plan" || kind === "call") && text !== "");
  const bullets = summary.split("\n").filter((line) => line.startsWith("- "));
  return isOpen || isPlanned || bullets.every((line) => line.startsWith(`- ${LAST_ACTION}`));
}

/** Never more than the summaries leave, and never below 0. */
export function namesBudget({ stackTokens, takenTokens, isEarly, earlyShare = EARLY_NAMES_SHARE }: StackFill): number {
  const most = isEarly ? Math.floor(stackTokens * earlyShare) : stackTokens;
  return Math.max(0, Math.min(most, stackTokens - takenTokens));
}
