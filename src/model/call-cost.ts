/**
 * What one call of a summariser cost, in tokens.
 *
 * A provider's report counts where it can be true. Where there is none, or it cannot be true, the texts are estimated
 * instead, and the cost says how much of it is an estimate. So a budget holds whatever a provider reports.
 */
import { estimateTokens } from "../steps/tokens/tokens.ts";

export interface CallCost {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** How much of the sum is our estimate, because no count was reported that can be true. */
  readonly estimatedTokens: number;
}

/** What a provider said. Not trusted: it may be absent, negative, or no number at all. */
export interface ReportedUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** A prompt counts at most this many times its estimate, and as much more as a provider's framing may take. */
export const MOST_TIMES_ESTIMATE = 10;
export const MOST_FRAMING_TOKENS = 10_000;

/** More than any model writes in one call, hidden thoughts included. */
export const MOST_WRITTEN_TOKENS = 250_000;

/** `asked` is the whole prompt, `written` all that the model wrote, its thoughts included. */
export function costOf(reported: ReportedUsage, asked: string, written: string): CallCost {
  const estimate = { input: estimateTokens(asked), output: estimateTokens(written) };
  const mostAsked = MOST_TIMES_ESTIMATE * estimate.input + MOST_FRAMING_TOKENS;
  const input = believable(reported.inputTokens, estimate.input, mostAsked);
  const output = believable(reported.outputTokens, estimate.output, MOST_WRITTEN_TOKENS);
  return {
    inputTokens: input ?? estimate.input,
    outputTokens: output ?? estimate.output,
    estimatedTokens: (input === null ? estimate.input : 0) + (output === null ? estimate.output : 0),
  };
}

/** Null for what cannot be a count of this text. Providers that do not count report 0. */
function believable(reported: number | undefined, estimate: number, most: number): number | null {
  if (reported === undefined || !Number.isSafeInteger(reported)) return null;
  const least = estimate === 0 ? 0 : 1;
  return reported >= least && reported <= most ? reported : null;
}
