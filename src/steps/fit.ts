/**
 * Fits work into a summariser's window: what a prompt carries beside the source (its own text, the previous summary)
 * and the answer are left room for.
 */
import { MIN_CHUNK_TOKENS, PROMPT_OVERHEAD_TOKENS } from "../limits.ts";
import type { Plan, Policy } from "./plan.ts";

/** Texts as long as a summary that a call may hold beside its source: the previous one, the answer, and one for safety. */
const SUMMARIES_IN_A_CALL = 3;

/**
 * The policy with chunks small enough for a model of `windowTokens`. Half of the window is the most a chunk may take,
 * because the estimate of tokens may be wrong by a good part.
 */
export function fitPolicy(policy: Policy, windowTokens: number): Policy {
  return { ...policy, chunkTokens: Math.max(1, Math.min(policy.chunkTokens, roomFor(policy, windowTokens))) };
}

/** Nothing to do, with what to change, where the window has no room for a chunk worth a call; null where it has. */
export function findNoRoom(policy: Policy, windowTokens: number): Plan | null {
  if (roomFor(policy, windowTokens) >= Math.min(policy.chunkTokens, MIN_CHUNK_TOKENS)) return null;
  const most = Math.floor((windowTokens - PROMPT_OVERHEAD_TOKENS - MIN_CHUNK_TOKENS) / SUMMARIES_IN_A_CALL);
  const lower = most < 1 ? "" : `, or summaryTokens of at most ${most}`;
  return {
    kind: "nothing",
    reason: "window-too-small",
    detail:
      `A summariser's window of ${windowTokens} tokens has no room for ${MIN_CHUNK_TOKENS} of the conversation beside ` +
      `its prompt and summaries of ${policy.summaryTokens}: it takes a larger window${lower}.`,
  };
}

function roomFor({ summaryTokens }: Policy, windowTokens: number): number {
  const room = windowTokens - PROMPT_OVERHEAD_TOKENS - SUMMARIES_IN_A_CALL * summaryTokens;
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
