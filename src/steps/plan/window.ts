/**
 * Fits chunks and folds into a summariser's window, with room for the prompt's own text and the answer.
 */
import { PROMPT_AROUND_TOKENS, PROMPT_OVERHEAD_TOKENS } from "../../limits.ts";
import type { Plan, Policy } from "./plan.ts";

/**
 * Least chunk that a summariser's window must hold (tokens). Smaller chunks would take thousands of calls that say
 * little.
 */
export const MIN_CHUNK_TOKENS = 500;

/** Summaries that a call must have room for beside its source, which are those that it folds, or that stay in front of it, and the answer. */
const SUMMARIES_BESIDE_A_SOURCE = 4;

/** Summaries in the smallest call that folds: two sources and the answer. */
const SUMMARIES_IN_A_FOLD = 3;

/**
 * The policy with chunks small enough for a model of `windowTokens`. A chunk takes at most two thirds of the window, because
 * the token estimate may be off.
 */
export function fitPolicy(policy: Policy, windowTokens: number): Policy {
  const budget = budgetBeside(SUMMARIES_BESIDE_A_SOURCE, policy, windowTokens);
  // Where it has no room for all of those, it has some for a fold, and a smaller chunk would not be worth its call.
  return { ...policy, chunkTokens: Math.max(1, Math.min(policy.chunkTokens, Math.max(budget, MIN_CHUNK_TOKENS))) };
}

/**
 * The reason for doing nothing, with advice, when the window has no room for a chunk worth a call or for a fold of two
 * summaries. Null when it has room.
 */
export function findSmallWindow(policy: Policy, windowTokens: number): Plan | null {
  const budget = budgetBeside(SUMMARIES_IN_A_FOLD, policy, windowTokens);
  if (budget >= Math.min(policy.chunkTokens, MIN_CHUNK_TOKENS)) return null;
  const most = Math.floor((besidePrompt(windowTokens) - MIN_CHUNK_TOKENS) / SUMMARIES_IN_A_FOLD);
  const lower = most < 1 ? "" : `, or summaryTokens of at most ${most}`;
  return {
    kind: "nothing",
    reason: "window-too-small",
    detail:
      `A summariser's window of ${windowTokens} tokens has no room for ${MIN_CHUNK_TOKENS} of the conversation beside ` +
      `its prompt and summaries of ${policy.summaryTokens}: it takes a larger window${lower}.`,
  };
}

function budgetBeside(summaries: number, { summaryTokens }: Policy, windowTokens: number): number {
  return Math.min(besidePrompt(windowTokens) - summaries * summaryTokens, Math.floor((windowTokens * 2) / 3));
}

/** What a prompt's own text leaves of a window. A small window shows less of what is around the source. */
function besidePrompt(windowTokens: number): number {
  return windowTokens - PROMPT_OVERHEAD_TOKENS - Math.min(PROMPT_AROUND_TOKENS, Math.floor(windowTokens / 20));
}

/** Groups drafts for merging, in order. Each group has at least two, so that every round makes progress. */
export function groupDrafts<T extends { readonly tokens: number }>(drafts: readonly T[], limitTokens: number): T[][] {
  const groups: T[][] = [];
  let group: T[] = [];
  let tokens = 0;
  for (const draft of drafts) {
    if (group.length >= 2 && tokens + draft.tokens > limitTokens) {
      groups.push(group);
      group = [];
      tokens = 0;
    }
    group.push(draft);
    tokens += draft.tokens;
  }
  const last = groups.at(-1);
  if (group.length === 1 && last !== undefined) last.push(...group);
  else if (group.length > 0) groups.push(group);
  return groups;
}
