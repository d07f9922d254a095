/**
 * Calibrates a session's token estimate against its provider's counts of past calls.
 *
 * Each call gives two numbers for one prompt: the provider's count and our estimate. From them it learns the ratio
 * between counted and estimated tokens, and the tokens that nobody estimated (system prompt, tools, the provider's own
 * framing). The estimates stored with messages never change. The calibration is applied to a sum when it is read.
 *
 * Why it is safe:
 * - The ratio is learned from growth between calls alone, so a large system prompt does not look like a bad estimate.
 *   It is cumulative and starts with a weighted 1, so that no single call moves it far. An average that forgets does
 *   worse.
 * - A prediction builds on the last call. For the prompt counted last it equals that count.
 * - The ratio stays in bounds whatever a provider reports, and a prediction is at least half of the estimate. So a
 *   provider that leaves cached tokens out of its count cannot keep the trigger from firing.
 */

/** Estimated tokens with which the ratio 1 is weighted at the start, some 25,000 characters of conversation. */
const PRIOR_TOKENS = 6_250;

/** Bounds on the ratio. Outside of them the report is wrong, or it is about another prompt. */
const LEAST_RATIO = 0.5;
const MOST_RATIO = 3;

export interface Calibration {
  /** Sum of the tokens by which prompts grew from one call to the next, as the provider counted them. */
  readonly countedGrowth: number;
  /** The same growth by our estimate. */
  readonly estimatedGrowth: number;
  /** The last call's prompt, by the provider's count and by our estimate. */
  readonly lastCounted: number;
  readonly lastEstimate: number;
}

/** One call's prompt, by the provider's count and by the estimate of the view that was sent. Both are 0 or more. */
export interface CountedPrompt {
  readonly counted: number;
  readonly estimate: number;
}

/** The calibration after one more call. A view that shrank (compaction, another branch) does not change the ratio. */
export function calibrate(before: Calibration | null, { counted, estimate }: CountedPrompt): Calibration {
  const growth = {
    counted: counted - (before?.lastCounted ?? counted),
    estimate: estimate - (before?.lastEstimate ?? 0),
  };
  const teaches = before !== null && growth.estimate > 0 && growth.counted >= 0;
  return {
    countedGrowth: (before?.countedGrowth ?? 0) + (teaches ? growth.counted : 0),
    estimatedGrowth: (before?.estimatedGrowth ?? 0) + (teaches ? growth.estimate : 0),
    lastCounted: counted,
    lastEstimate: estimate,
  };
}

/** Counted tokens per estimated token. */
export function calibrationRatio({ countedGrowth, estimatedGrowth }: Calibration): number {
  const ratio = (countedGrowth + PRIOR_TOKENS) / (estimatedGrowth + PRIOR_TOKENS);
  return Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio));
}

/**
 * The predicted provider count for a view of `estimate` tokens, as a whole number. Before any call it is the estimate
 * itself.
 */
export function predictTokens(calibration: Calibration | null, estimate: number): number {
  if (calibration === null) return estimate;
  const { lastCounted, lastEstimate } = calibration;
  const predicted = lastCounted + calibrationRatio(calibration) * (estimate - lastEstimate);
  return Math.round(Math.max(predicted, LEAST_RATIO * estimate));
}
