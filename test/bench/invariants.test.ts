/** A reported violation comes with everything that is needed to replay it. */
import { expect, test } from "vitest";
import { tablesOf } from "../../bench/invariants/simulated.ts";

const tally = { operations: { append: 5 }, refused: {}, outcomes: {}, answers: {}, checks: { V1: 7 } };

test("the seed is told as it is typed", () => {
  const [played, ...others] = tablesOf({ operations: 5, seed: 123_456, tally, violations: [] });
  expect(played?.columns[0]).toBe("seed");
  expect(played?.rows[0]?.[0]).toBe("123456");
  expect(others).toEqual([]);
});

test("a violation is named with the seed of its own operations", () => {
  const violations = [{ seed: "123458", invariant: "C3", detail: "shows a |\nb" }];
  const [played, broken] = tablesOf({ operations: 5, seed: 123_456, tally, violations });
  expect(played?.rows[0]?.at(-1)).toBe(1);
  expect(broken?.rows).toEqual([["123458", "C3", "shows a / b"]]);
});
