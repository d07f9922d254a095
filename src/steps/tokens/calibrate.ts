/**
 * How far a session's estimate is from what its provider counts, learned from the calls that were made.
 *
 * Job: from each call's two numbers (the prompt as counted, the same prompt as estimated) learn two things: how many
 * tokens an estimated one really is, and what a prompt carries that nobody estimated (system prompt, tools, the
 * provider's own framing). Boundary: nothing stamped on a message ever changes; this is applied to a sum when it is read.
 *
 * Why it is safe:
 * - The ratio is learned from growth alone, one call to the next, so a large system prompt cannot pass for bad estimates.
 *   It is cumulative and starts at 1 with weight, so that no single call moves it far; an average that forgets does worse.
 * - A prediction stands on the last call: for the prompt that was counted last, it is what was counted.
 * - Whatever a provider reports, the ratio stays in bounds, and a prediction is never under half of the estimate: a
 *   provider that leaves cached tokens out of its count cannot talk the trigger out of firing.
 */

/** Estimated tokens that the ratio 1 weighs at the start: some 25,000 characters of conversation. */
const PRIOR_TOKENS = 6_250;

/** Bounds on the ratio: beyond them it is the report that is wrong, or it is about another prompt. */
const LEAST_RATIO = 0.5;
const MOST_RATIO = 3;

export interface Calibration {
  /** Sum of the tokens by which prompts grew from one call to the next, as the provider counted. */
  readonly countedGrowth: number;
  /** The same growth, as estimated. */
  readonly estimatedGrowth: number;
  /** The last call's prompt, as counted and as estimated. */
  readonly lastCounted: number;
  readonly lastEstimate: number;
}

/** One call: its prompt as the provider counted it, and the estimate of the view that was sent. Both 0 or more. */
export interface CountedPrompt {
  readonly counted: number;
  readonly estimate: number;
}

/** What is known after one more call. A view that shrank (compaction, another branch) teaches no ratio. */
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

/** Counted tokens for each estimated one. */
export function calibrationRatio({ countedGrowth, estimatedGrowth }: Calibration): number {
  const ratio = (countedGrowth + PRIOR_TOKENS) / (estimatedGrowth + PRIOR_TOKENS);
  return Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio));
}

/** What a provider would count for a view of `estimate` tokens: a whole number; the estimate itself before any call. */
export function predictTokens(calibration: Calibration | null, estimate: number): number {
  if (calibration === null) return estimate;
  const { lastCounted, lastEstimate } = calibration;
  const predicted = lastCounted + calibrationRatio(calibration) * (estimate - lastEstimate);
  return Math.round(Math.max(predicted, LEAST_RATIO * estimate));
}
