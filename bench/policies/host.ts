/**
 * One conversation under one policy, in real parts, as a case replays it.
 *
 * Boundary: who stands behind a host (an agent of ours with its workflow, the SDK's session, a list in memory) is known to it alone;
 * cases and judges see only this.
 */
import type { UIMessage } from "ai";

export interface Host {
  /** The policy's name, as tables show it. */
  readonly name: string;
  /** Stores the next message, and waits for the end of whatever compaction it began. */
  append(message: UIMessage): Promise<Appended>;
  /** What the model would be sent now. */
  view(): Promise<readonly UIMessage[]>;
  /** What one call of the policy's own way back to hidden messages answers; empty for a policy that has none. */
  recall(question: string): Promise<string>;
  /** So far. */
  spent(): Promise<Spent>;
  close(): Promise<void>;
}

export interface Appended {
  /** True when the view lost messages to a summary, or to nothing, by this append. */
  readonly compacted: boolean;
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
  /** What the view should weigh right after a compaction: a policy's own budgets are set so that it comes near. */
  readonly afterTokens: number;
  readonly summariser: SummariserName;
  readonly seed: number;
}

/** The offline extractive model, or scripted ones that keep a known share of what they read. */
export type SummariserName = "extractive" | "lossy-10" | "lossy-50" | "empty";

/** Makes a fresh host: a new conversation, with nothing stored. */
export type Policy = {
  readonly name: string;
  readonly open: (terms: Terms) => Promise<Host>;
};
