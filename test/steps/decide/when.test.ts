/** The budget and the hard line of a session, the valid options for them, and the advice where it waits. */
import { expect, test } from "vitest";
import { errorCode } from "../../../src/errors.ts";
import {
  explainSpent,
  resolveBudget,
  utcDay,
  resolveWhen,
  type WhenOptions,
  isSoft,
  waitFor,
  type WhyNot,
} from "../../../src/steps/decide/decide.ts";

test("a budget may be nothing at all", () => {
  const budget = resolveBudget({ sessionTokens: 0 });
  expect(explainSpent(budget, { sessionTokens: 0, dayTokens: 0 })).toContain("0 of 0 tokens");
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
});

const WRONG: readonly WhenOptions[] = [
  { windowTokens: Number.NaN },
  { windowTokens: 999 },
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
    "run-in-flight",
    "approval-pending",
  ];
  for (const reason of reasons) expect(waitFor(reason, "found").advice).toMatch(/^[A-Z][^\n]{15,200}\.$/);
  expect(reasons.filter(isSoft)).toEqual(["cooling-down", "breaker-open", "budget-spent"]);
});
