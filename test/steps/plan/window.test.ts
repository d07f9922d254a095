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
      const { chunkTokens } = fitPolicy(policy, window);
      expect(chunkTokens).toBeGreaterThanOrEqual(MIN_CHUNK_TOKENS);
      expect(chunkTokens).toBeLessThanOrEqual(Math.min(policy.chunkTokens, (window * 2) / 3));
      const around = Math.min(PROMPT_AROUND_TOKENS, Math.floor(window / 20));
      const left = window - PROMPT_OVERHEAD_TOKENS - around - 4 * policy.summaryTokens - chunkTokens;
      if (chunkTokens > MIN_CHUNK_TOKENS) expect(left).toBeGreaterThanOrEqual(0);
      expect(left + policy.summaryTokens).toBeGreaterThanOrEqual(0);
      const most = [policy.chunkTokens, Math.floor((window * 2) / 3), MIN_CHUNK_TOKENS];
      expect([...most.map((each) => each - chunkTokens), left]).toContain(0);
    }),
  );
});

test("where a chunk has room, so has the fold of two summaries", () => {
  fc.assert(
    fc.property(policies, windows, (policy, window) => {
      if (findSmallWindow(policy, window) !== null) return;
      expect(PROMPT_OVERHEAD_TOKENS + 3 * policy.summaryTokens).toBeLessThanOrEqual(window);
    }),
  );
});

test("where there is no room, the share that is named for summaries makes room, and a hundredth more does not", () => {
  const [thresholdTokens, window] = [100_000, 8_192];
  const policy = resolvePolicy({ thresholdTokens });
  const nothing = findSmallWindow(policy, window);
  const detail = nothing?.kind === "nothing" ? nothing.detail : "";
  const most = Number(/at most ([\d.]+)\.$/.exec(detail)?.[1]);
  expect(most).toBe(0.05);
  const kinds = [most, most + 0.01].map(
    (share) => findSmallWindow(resolvePolicy({ thresholdTokens, share }), window)?.kind,
  );
  expect(kinds).toEqual([undefined, "nothing"]);
  expect(findSmallWindow(policy, 2_000)).toMatchObject({
    detail: expect.stringMatching(/a larger window\.$/),
  });
});

test("chunks that somebody asked to be small are small, whatever the window", () => {
  const policy = { ...resolvePolicy({ thresholdTokens: 8_000 }), chunkTokens: 50 };
  expect(findSmallWindow(policy, 32_000)).toBeNull();
  expect(fitPolicy(policy, 32_000).chunkTokens).toBe(50);
});
