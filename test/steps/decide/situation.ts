/** A session for which nothing is due, and what a decision may not read for it. */
import type { Situation } from "../../../src/steps/decide/decide.ts";

export const QUIET: Situation = {
  leafId: "m9",
  sessionId: "s",
  hasEnded: false,
  tokens: 100,
  messages: 10,
  thresholds: { thresholdTokens: 1_000, hardTokens: 1_500, maxMessages: null },
  rent: null,
  live: () => null,
  quiet: () => null,
  obstacle: () => null,
  isServed: () => false,
  nothingToDo: () => null,
};

/** In place of a question that a decision must not ask. */
export function never(): never {
  throw new Error("Nothing needs to be read for this.");
}
