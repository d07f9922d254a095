/**
 * One conversation under one policy with real parts, as a case replays it.
 *
 * Only the host knows its store, which is an agent of ours with its workflow, the SDK's session or a list in memory. Cases and judges see
 * this interface alone. `listPolicies` (list.ts) makes the policies.
 */
import type { UIMessage } from "ai";

export interface Host {
  /** The policy's name, as tables show it. */
  readonly name: string;
  /** Stores the next message and waits for the end of any compaction that it began. */
  append(message: UIMessage): Promise<Appended>;
  /** The messages that the model would get now. */
  view(): Promise<readonly UIMessage[]>;
  /** One call of the policy's own recall of hidden messages. Null for a policy without one here. */
  readonly recall: ((question: string) => Promise<string>) | null;
  /** Spent so far. */
  spent(): Promise<Spent>;
  close(): Promise<void>;
}

export interface Appended {
  /** True when this append took messages out of the view in favour of a summary. Otherwise a view only grows by the message. */
  readonly compacted: boolean;
  /** Tokens of the view now, by our estimate. */
  readonly tokens: number;
}

/** Cost of summarising in calls and tokens, by our estimate for every policy. */
export interface Spent {
  readonly calls: number;
  readonly inputTokens: number;
  /** The part of them that was read from the provider's cache. Default 0. */
  readonly cachedTokens?: number;
  readonly outputTokens: number;
}

/** Conditions that are equal for every policy of one comparison. */
export interface Terms {
  /** Tokens that the view may reach before it is compacted. */
  readonly thresholdTokens: number;
  /** Tokens of the view right after a compaction. Each policy's tail budget is steered towards it. */
  readonly afterTokens: number;
  readonly summariser: SummariserName;
  readonly seed: number;
}

/** The offline model. */
export type SummariserName = "extractive";

export interface Policy {
  readonly name: string;
  /**
   * Makes a fresh host for a new conversation. Hosts of one policy under equal terms share their steered tail, so open them one after the
   * other.
   */
  readonly open: (terms: Terms) => Promise<Host>;
}
