/**
 * One conversation under one policy, in real parts, as a case replays it.
 *
 * Boundary: who stands behind a host (an agent of ours with its workflow, the SDK's session, a list in memory) is known to it alone;
 * cases and judges see only this. `listPolicies` (list.ts) makes them.
 */
import type { UIMessage } from "ai";

export interface Host {
  /** The policy's name, as tables show it. */
  readonly name: string;
  /** Stores the next message, and waits for the end of whatever compaction it began. */
  append(message: UIMessage): Promise<Appended>;
  /** What the model would be sent now. */
  view(): Promise<readonly UIMessage[]>;
  /** What one call of the policy's own way back to hidden messages answers; null for one that is given none here. */
  readonly recall: ((question: string) => Promise<string>) | null;
  /** So far. */
  spent(): Promise<Spent>;
  close(): Promise<void>;
}

export interface Appended {
  /** True when the view lost messages to a summary by this append. A view only ever grows by the message otherwise. */
  readonly compacted: boolean;
  /** Tokens of the view now, by our estimate. */
  readonly tokens: number;
}

/** What summarising cost: calls, and tokens by our estimate for every policy alike. */
export interface Spent {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What every policy of one comparison is given. */
export interface Terms {
  /** The view may grow to this many tokens before it is compacted. */
  readonly thresholdTokens: number;
  /** What the view should weigh right after a compaction: each policy's budget of its tail is steered towards it. */
  readonly afterTokens: number;
  readonly summariser: SummariserName;
  readonly seed: number;
}

/** The offline extractive model, scripted ones that lose a known share of what they read, or one that keeps nothing. */
export type SummariserName = "extractive" | "lossy-10" | "lossy-50" | "empty";

export interface Policy {
  readonly name: string;
  /**
   * Makes a fresh host: a new conversation, with nothing stored. Hosts of one policy under equal terms share what their tail was
   * steered to, so open them one after the other.
   */
  readonly open: (terms: Terms) => Promise<Host>;
}
