/** Chunks that fit a summariser's window, and windows that no chunk fits. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PROMPT_AROUND_TOKENS, PROMPT_OVERHEAD_TOKENS } from "../../../src/limits.ts";
import { findSmallWindow, fitPolicy, MIN_CHUNK_TOKENS } from "../../../src/steps/plan/plan.ts";
import { resolvePolicy } from "../../../src/steps/plan/policy.ts";

const windows = fc.integer({ min: 2_000, max: 300_000 });
const policies = fc
  .record({ thresholdTokens: fc.integer({ min: 1_000, max: 400_000 }) })
  .map((options) => resolvePolicy(options));

test("a chunk takes two thirds of a window at most, beside the prompt and four summaries, no less than that, and never fewer tokens than are worth a call", () => {
  fc.assert(
    fc.property(policies, windows, (policy, window) => {
      if (findSmallWindow(policy, window) !== null) return;
      const { chunkTokens, summaryTokens } = fitPolicy(policy, window);
      expect(summaryTokens).toBe(Math.min(policy.summaryTokens, Math.floor(window / 8)));
      expect(chunkTokens).toBeGreaterThanOrEqual(MIN_CHUNK_TOKENS);
      expect(chunkTokens).toBeLessThanOrEqual(Math.min(policy.chunkTokens, (window * 2) / 3));
      const around = Math.min(PROMPT_AROUND_TOKENS, Math.floor(window / 20));
      const left = window - PROMPT_OVERHEAD_TOKENS - around - 4 * summaryTokens - chunkTokens;
      if (chunkTokens > MIN_CHUNK_TOKENS) expect(left).toBeGreaterThanOrEqual(0);
      expect(left + summaryTokens).toBeGreaterThanOrEqual(0);
      const most = [policy.chunkTokens, Math.floor((window * 2) / 3), MIN_CHUNK_TOKENS];
      expect([...most.map((each) => each - chunkTokens), left]).toContain(0);
    }),
  );
});

test("where a chunk has room, so has the fold of two summaries", () => {
  fc.assert(
    fc.property(policies, windows, (policy, window) => {
      if (findSmallWindow(policy, window) !== null) return;
      expect(PROMPT_OVERHEAD_TOKENS + 3 * fitPolicy(policy, window).summaryTokens).toBeLessThanOrEqual(window);
    }),
  );
});

test("a window far smaller than the threshold takes smaller summaries, so that a chunk is worth its call", () => {
  const policy = resolvePolicy({ thresholdTokens: 120_000 });
  const { summaryTokens, chunkTokens } = fitPolicy(policy, 32_000);
  expect(policy.summaryTokens).toBe(8_000);
  expect(summaryTokens).toBe(4_000);
  expect(chunkTokens).toBeGreaterThan(3 * summaryTokens);
  expect(findSmallWindow(policy, 8_192)).toBeNull();
  expect(findSmallWindow(policy, 2_000)).toMatchObject({ detail: expect.stringMatching(/a larger window\.$/) });
});

test("chunks that somebody asked to be small are small, whatever the window", () => {
  const policy = { ...resolvePolicy({ thresholdTokens: 8_000 }), chunkTokens: 50 };
  expect(findSmallWindow(policy, 32_000)).toBeNull();
  expect(fitPolicy(policy, 32_000).chunkTokens).toBe(50);
});
