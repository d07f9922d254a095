/** Fits work into a summariser's window. */
import { PROMPT_OVERHEAD_TOKENS } from "../limits.ts";
import type { Policy } from "./plan.ts";

/**
 * The policy with chunks small enough for a model of `windowTokens`: what a prompt carries beside the chunk (its own
 * text, the previous summary) and the answer are left room for. Half of the window is the most a chunk may take,
 * because the estimate of tokens may be wrong by a good part.
 */
export function fitPolicy(policy: Policy, windowTokens: number): Policy {
  const room = windowTokens - PROMPT_OVERHEAD_TOKENS - 3 * policy.summaryTokens;
  const chunkTokens = Math.max(1, Math.min(policy.chunkTokens, room, Math.floor(windowTokens / 2)));
  return { ...policy, chunkTokens };
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
