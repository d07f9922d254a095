/**
 * Fits work into a summariser's window: what a call carries beside its source, the prompt's own text and the answer, is left
 * room for.
 */
import { PROMPT_OVERHEAD_TOKENS } from "../../limits.ts";
import type { Plan, Policy } from "./plan.ts";

/** Least chunk that a summariser's window must leave room for (tokens): smaller ones would be thousands of calls that say nothing. */
export const MIN_CHUNK_TOKENS = 500;

/** Summaries that a call may hold beside its source: the answer, which a model is let overshoot to twice its size. */
const SUMMARIES_BESIDE_A_SOURCE = 2;

/** Summaries in the least call of all that fold: two, and the answer. */
const SUMMARIES_IN_A_FOLD = 3;

/**
 * The policy with chunks small enough for a model of `windowTokens`. Half of the window is the most a chunk may take,
 * because the estimate of tokens may be wrong by a good part.
 */
export function fitPolicy(policy: Policy, windowTokens: number): Policy {
  const room = roomBeside(SUMMARIES_BESIDE_A_SOURCE, policy, windowTokens);
  return { ...policy, chunkTokens: Math.max(1, Math.min(policy.chunkTokens, room)) };
}

/**
 * Nothing to do, with what to change, where the window has no room for a chunk worth a call, or for the fold of two
 * summaries; null where it has.
 */
export function findNoRoom(policy: Policy, windowTokens: number): Plan | null {
  const room = roomBeside(SUMMARIES_IN_A_FOLD, policy, windowTokens);
  if (room >= Math.min(policy.chunkTokens, MIN_CHUNK_TOKENS)) return null;
  const most = Math.floor((windowTokens - PROMPT_OVERHEAD_TOKENS - MIN_CHUNK_TOKENS) / SUMMARIES_IN_A_FOLD);
  const lower = most < 1 ? "" : `, or summaryTokens of at most ${most}`;
  return {
    kind: "nothing",
    reason: "window-too-small",
    detail:
      `A summariser's window of ${windowTokens} tokens has no room for ${MIN_CHUNK_TOKENS} of the conversation beside ` +
      `its prompt and summaries of ${policy.summaryTokens}: it takes a larger window${lower}.`,
  };
}

function roomBeside(summaries: number, { summaryTokens }: Policy, windowTokens: number): number {
  const room = windowTokens - PROMPT_OVERHEAD_TOKENS - summaries * summaryTokens;
  return Math.min(room, Math.floor(windowTokens / 2));
}

/** Cuts a row of drafts into groups to be merged: at least two in each, so that every round makes progress. */
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
