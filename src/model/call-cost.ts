/**
 * The cost of one summariser call in tokens.
 *
 * A provider's report counts where it is plausible. A missing or implausible report is replaced by an estimate of the texts, and the cost
 * says how much of it is estimated. So a budget holds whichever numbers a provider reports.
 */
import { estimateTokens } from "../steps/tokens/tokens.ts";

export interface CallCost {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The input tokens that the provider read from its prompt cache. Absent where it reported none. */
  readonly cachedTokens?: number;
  /** Those that it wrote there. Absent where it reported none. */
  readonly writtenTokens?: number;
  /** Tokens of the sum that we estimated, because the provider reported no plausible count. */
  readonly estimatedTokens: number;
}

/** A provider's report. It is not trusted, because a count may be absent, negative or no number at all. */
export interface ReportedUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  readonly writtenTokens?: number | undefined;
}

/** A prompt counts at most this many times its estimate, plus an allowance for the provider's framing. */
export const MOST_TIMES_ESTIMATE = 10;
export const MOST_FRAMING_TOKENS = 10_000;

/** Upper bound of the tokens that a model writes in one call, hidden thoughts included. */
export const MOST_WRITTEN_TOKENS = 250_000;

/** Computes the cost. `asked` is the whole prompt, and `written` is all that the model wrote, thoughts included. */
export function costOf(reported: ReportedUsage, asked: string, written: string): CallCost {
  const estimate = { input: estimateTokens(asked), output: estimateTokens(written) };
  const mostAsked = MOST_TIMES_ESTIMATE * estimate.input + MOST_FRAMING_TOKENS;
  const input = believable(reported.inputTokens, estimate.input, mostAsked);
  const output = believable(reported.outputTokens, estimate.output, MOST_WRITTEN_TOKENS);
  const cached = believable(reported.cachedTokens, 0, input ?? 0) ?? 0;
  const stored = believable(reported.writtenTokens, 0, (input ?? 0) - cached) ?? 0;
  return {
    ...(cached > 0 && { cachedTokens: cached }),
    ...(stored > 0 && { writtenTokens: stored }),
    inputTokens: input ?? estimate.input,
    outputTokens: output ?? estimate.output,
    estimatedTokens: (input === null ? estimate.input : 0) + (output === null ? estimate.output : 0),
  };
}

/** Returns null for a number that cannot be a count of this text. Providers that do not count report 0. */
function believable(reported: number | undefined, estimate: number, most: number): number | null {
  if (reported === undefined || !Number.isSafeInteger(reported)) return null;
  const least = estimate === 0 ? 0 : 1;
  return reported >= least && reported <= most ? reported : null;
}
