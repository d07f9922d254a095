/** A quantile is a measured value, and the hundredth of a hundred is not yet its p99. */
import { describe, expect, it } from "vitest";
import { median, quantile, ratio } from "../../bench/report/stats.ts";

const HUNDRED = Array.from({ length: 100 }, (_, n) => 100 - n);

describe("a quantile", () => {
  it("is the smallest value that so large a share lies at or below", () => {
    expect(quantile(HUNDRED, 0.99)).toBe(99);
    expect(quantile(HUNDRED, 0.5)).toBe(50);
    expect(quantile(HUNDRED, 0.07)).toBe(7);
  });

  it("is the least and the most at its ends", () => {
    expect(quantile(HUNDRED, 0)).toBe(1);
    expect(quantile(HUNDRED, 1)).toBe(100);
    expect(quantile([3], 0.99)).toBe(3);
  });

  it("in the middle is the median, of an even count the lower of two", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2);
  });

  it("of nothing is an error", () => {
    expect(() => quantile([], 0.5)).toThrow("nothing to take a quantile of");
  });
});

describe("a ratio", () => {
  it("is one number over the other, and nothing where one is missing or the other is zero", () => {
    expect(ratio(841, 20)).toBe(42.05);
    expect([ratio(undefined, 20), ratio(5, undefined), ratio(1_137, 0)]).toEqual([null, null, null]);
  });
});
