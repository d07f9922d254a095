/** The cost of a compaction, the point at which it has paid for itself, and the valid options for it. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { errorCode } from "../../../src/errors.ts";
import { DEFAULT_PRICES } from "../../../src/limits.ts";
import { breakEven, expectCompaction } from "../../../src/steps/decide/break-even.ts";
import { explainSpent, resolveBudget, utcDay } from "../../../src/steps/decide/budget.ts";
import { resolvePolicy } from "../../../src/steps/plan/policy.ts";
import { resolveWhen, type WhenOptions } from "../../../src/steps/decide/when.ts";
import { isSoft, waitFor, type WhyNot } from "../../../src/steps/decide/why-not.ts";

const tokens = fc.integer({ min: 0, max: 1_000_000 });

test("a worked example: 30,000 tokens saved, a summary of 4,000 from 34,000, 24,000 rewritten", () => {
  const cost = { savedTokens: 30_000, rewrittenTokens: 24_000, summariser: { input: 34_000, output: 4_000 } };
  // 34,000 + 5 · 4,000 + 24,000 · (1.25 − 0.1) = 81,600 once, against 3,000 a call.
  expect(breakEven(cost)).toBe(28);
});

test("after so many calls what was saved is what was paid, and one call earlier it was not", () => {
  const cost = fc.record({
    savedTokens: fc.integer({ min: 1, max: 1_000_000 }),
    rewrittenTokens: tokens,
    summariser: fc.record({ input: tokens, output: tokens }),
  });
  fc.assert(
    fc.property(cost, ({ savedTokens, rewrittenTokens, summariser }) => {
      const calls = breakEven({ savedTokens, rewrittenTokens, summariser });
      const { cacheRead, cacheWrite } = DEFAULT_PRICES;
      const paid = summariser.input + 5 * summariser.output + rewrittenTokens * (cacheWrite - cacheRead);
      expect(calls * savedTokens * cacheRead).toBeGreaterThanOrEqual(paid - 1);
      if (calls > 0) expect((calls - 1) * savedTokens * cacheRead).toBeLessThan(paid + 1);
    }),
  );
});

test("what a run comes to by its policy: the view without head, tail and all that is no message, and a summary in its place", () => {
  const policy = { ...resolvePolicy({ thresholdTokens: 60_000 }), headTokenBudget: 1_000, tailTokenBudget: 20_000 };
  const cost = expectCompaction({ ...policy, summaryTokens: 3_000 }, { viewTokens: 61_000, overheadTokens: 5_000 });
  expect(cost).toEqual({
    savedTokens: 32_000,
    rewrittenTokens: 23_000,
    summariser: { input: 35_000, output: 3_000 },
  });
  const small = expectCompaction({ ...policy, summaryTokens: 3_000 }, { viewTokens: 26_500, overheadTokens: 5_000 });
  expect(small).toEqual({ savedTokens: 0, rewrittenTokens: 20_500, summariser: { input: 500, output: 500 } });
});

test("each price counts in its place", () => {
  const cost = { savedTokens: 100, rewrittenTokens: 1_000, summariser: { input: 500, output: 10 } };
  const prices = { input: 2, output: 7, cacheRead: 0.5, cacheWrite: 3 };
  // 500 · 2 + 10 · 7 + 1,000 · (3 − 0.5) = 3,570, against 100 · 0.5 a call.
  expect(breakEven({ ...cost, prices })).toBe(72);
  // A cache that is cheaper to write than to read gives nothing back.
  expect(breakEven({ ...cost, prices: { ...prices, cacheRead: 5 } })).toBe(3);
  expect(
    breakEven({
      savedTokens: 100,
      rewrittenTokens: 0,
      summariser: { input: 100, output: 0 },
      prices: { ...prices, input: 1, cacheRead: 1 },
    }),
  ).toBe(1);
});

test("a budget may be nothing at all", () => {
  const budget = resolveBudget({ sessionTokens: 0 });
  expect(explainSpent(budget, { sessionTokens: 0, dayTokens: 0 })).toContain("0 of 0 tokens");
});

test("what saves nothing never pays for itself, and what costs nothing does at once", () => {
  expect(breakEven({ savedTokens: 0, rewrittenTokens: 10, summariser: { input: 1, output: 1 } })).toBe(Infinity);
  expect(breakEven({ savedTokens: 0, rewrittenTokens: 0, summariser: { input: 0, output: 0 } })).toBe(0);
});

test("a larger view is never less worth compacting", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 200_000 }), tokens, tokens, (threshold, viewTokens, more) => {
      const policy = resolvePolicy({ thresholdTokens: threshold });
      const calls = (size: number): number =>
        breakEven(expectCompaction(policy, { viewTokens: size, overheadTokens: 0 }));
      fc.pre(viewTokens > threshold);
      expect(calls(viewTokens + more)).toBeLessThanOrEqual(calls(viewTokens));
    }),
  );
});

test("under the default policies a threshold's own crossing is always worth it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 1_000_000 }), (threshold) => {
      const cost = expectCompaction(resolvePolicy({ thresholdTokens: threshold }), {
        viewTokens: threshold + 1,
        overheadTokens: 0,
      });
      expect(breakEven(cost)).toBeLessThanOrEqual(resolveWhen(threshold, {}).maxBreakEvenCalls ?? 0);
    }),
  );
});

test("a budget is spent once as much was paid, and says which one and what to change", () => {
  const budget = resolveBudget({ sessionTokens: 100, dayTokens: 1_000 });
  expect(explainSpent(budget, { sessionTokens: 99, dayTokens: 999 })).toBeNull();
  expect(explainSpent(budget, { sessionTokens: 100, dayTokens: 0 })).toContain("raise budget.sessionTokens");
  expect(explainSpent(budget, { sessionTokens: 0, dayTokens: 1_000 })).toContain("raise budget.dayTokens");
  expect(explainSpent(resolveBudget(), { sessionTokens: 1e12, dayTokens: 1e12 })).toBeNull();
});

test("a day begins at midnight in UTC", () => {
  const midnight = Date.UTC(2026, 7, 1);
  expect(utcDay(midnight) - utcDay(midnight - 1)).toBe(1);
  expect(utcDay(midnight + 86_399_999)).toBe(utcDay(midnight));
});

test("the hard line is the window where one is given, else one and a half thresholds", () => {
  expect(resolveWhen(60_000, {}).hardTokens).toBe(90_000);
  expect(resolveWhen(60_000, { windowTokens: 200_000 }).hardTokens).toBe(200_000);
  expect(resolveWhen(60_000, { windowTokens: 200_000, hardTokens: 100_000 }).hardTokens).toBe(100_000);
});

const WRONG: readonly WhenOptions[] = [
  { hardTokens: 999 },
  { hardTokens: Number.NaN },
  { windowTokens: 999 },
  { maxBreakEvenCalls: 0 },
  { maxBreakEvenCalls: 1.5 },
  { budget: { sessionTokens: -1 } },
  { budget: { dayTokens: Number.POSITIVE_INFINITY } },
  { prices: { output: -1 } },
  { prices: { cacheRead: Number.NaN } },
  { prices: { cacheWrite: 0 } },
];

test("a window below the threshold is refused with the number to change", () => {
  expect(() => resolveWhen(60_000, { windowTokens: 32_000 })).toThrow(
    /^\[invalid_options\] windowTokens is 32000: give a threshold below the window, not 60000/,
  );
});

test.each(WRONG)("%o is refused with advice", (options) => {
  const refusal = (() => {
    try {
      resolveWhen(1_000, options);
      return null;
    } catch (error) {
      return error;
    }
  })();
  expect(errorCode(refusal)).toBe("invalid_options");
  expect((refusal as Error).message).toMatch(/give a/);
});

test("every reason for doing nothing says in one line what to change", () => {
  const reasons: WhyNot[] = [
    "empty",
    "under-threshold",
    "too-short",
    "too-small",
    "would-not-shrink",
    "cooling-down",
    "breaker-open",
    "budget-spent",
    "not-worth-it",
    "run-in-flight",
    "approval-pending",
  ];
  for (const reason of reasons) expect(waitFor(reason, "found").advice).toMatch(/^[A-Z][^\n]{15,200}\.$/);
  expect(reasons.filter(isSoft)).toEqual(["cooling-down", "breaker-open", "budget-spent", "not-worth-it"]);
});

test("what makes later calls longer never pays for itself, whatever it cost", () => {
  const summariser = { input: 100, output: 10 };
  expect(breakEven({ savedTokens: -100, rewrittenTokens: 10, summariser })).toBe(Number.POSITIVE_INFINITY);
});

test("what is expected of a run is in whole tokens, also where a head's share is none", () => {
  const policy = resolvePolicy({ thresholdTokens: 20_005, protectHead: 3 });
  const { savedTokens, summariser } = expectCompaction(policy, { viewTokens: 21_000, overheadTokens: 0 });
  expect([savedTokens, summariser.input].every(Number.isInteger)).toBe(true);
});
