/**
 * Replays a conversation under one policy and judges it after each compaction.
 *
 * Takes a host and returns verdicts. Knows no policy and no summariser. Comparable, because all policies receive the same messages one by
 * one and the same questions.
 */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/message/measure.ts";
import type { Host } from "../policies/host.ts";
import type { Conversation } from "./conversation.ts";
import { askFor, judgeView, type Verdict } from "./verdict.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export interface Track {
  readonly policy: string;
  /** Whether the policy has a recall. */
  readonly recalls: boolean;
  /** After each compaction, oldest first. */
  readonly verdicts: readonly Verdict[];
  /** Tokens of the view right after each compaction, by the project's estimate for every policy. */
  readonly viewTokens: readonly number[];
}

export interface Following {
  /** Compactions after which recall is asked. It takes a call for every missing name. */
  readonly depths: readonly number[];
  /** Most names to ask for at each of these. */
  readonly most: number;
}

/** Ends with the conversation, or after the deepest compaction in `depths`. Closes the host. */
export async function follow(host: Host, conversation: Conversation, { depths, most }: Following): Promise<Track> {
  const verdicts: Verdict[] = [];
  const viewTokens: number[] = [];
  const { recall } = host;
  try {
    for (const [at, message] of conversation.messages.entries()) {
      const { compacted } = await host.append(message);
      if (!compacted) continue;
      const view = await host.view();
      viewTokens.push(weigh(view));
      const verdict = judgeView(conversation, at + 1, view);
      const asks = recall !== null && depths.includes(verdicts.length + 1);
      verdicts.push(asks ? await askFor(verdict, most, recall) : verdict);
      if (verdicts.length >= Math.max(...depths)) break;
    }
    return { policy: host.name, recalls: recall !== null, verdicts, viewTokens };
  } finally {
    await host.close();
  }
}

function weigh(view: readonly UIMessage[]): number {
  return view.reduce((sum, message) => sum + measureMessage(message, estimateTokens).tokens, 0);
}
