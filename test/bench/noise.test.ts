/** Differences between two measurements are marked, times are judged by their mean, and counts by the worse one. */
import { describe, expect, it } from "vitest";
import { isKept, type Cell, type Check, type Finding } from "../../bench/report/finding.ts";
import { settle } from "../../bench/report/noise.ts";
import { renderFinding } from "../../bench/report/render.ts";

const finding = (checks: readonly Check[], row: readonly Cell[] = []): Finding => ({
  title: "",
  about: "",
  tables: [{ columns: row.map(() => ""), rows: [row] }],
  checks,
});

const check = (measured: number, rest: Partial<Check> = {}): Check => ({ claim: "it", measured, target: 5, ...rest });

const settled = (one: Check, two: Check) => settle(finding([one]), finding([two]));

const show = (rest: Partial<Check>) => renderFinding(settled(check(3, rest), check(6, rest)), null);

const marks = (one: readonly Cell[], two: readonly Cell[]) => settle(finding([], one), finding([], two)).noise;

const times = (median: number) => ({ median, least: 0, most: 100 });

describe("a promise that was measured twice", () => {
  it("is judged by the mean where it is about times", () => {
    expect(settled(check(4), check(6)).checks).toEqual([check(5)]);
  });

  it("is judged by the worse of both where it is exact, whichever came first", () => {
    const exact = true;
    for (const [one, two] of [[3, 6] as const, [6, 3] as const]) {
      const [judged] = settled(check(one, { exact }), check(two, { exact })).checks;
      expect(judged).toEqual(check(6, { exact }));
      expect(isKept(judged ?? check(0))).toBe(false);
    }
    const more = { exact, better: "more" } as const;
    expect(settled(check(9, more), check(4, more)).checks).toEqual([check(4, more)]);
    expect(settled(check(Number.NaN, { exact }), check(1, { exact })).checks).toEqual([check(Number.NaN, { exact })]);
  });

  it("shows both values", () => {
    expect(show({})).toContain("kept: it is 4.50 (3 and 6), at most 5");
    expect(show({ exact: true })).toContain("MISSED: it is 6 (6 and 3), at most 5");
  });
});

describe("a cell that was measured twice", () => {
  it("is marked where it differs by more than a fifth, a spread by its median", () => {
    expect(marks([10, 10, times(10), times(10)], [12, 13, times(12), times(7)])).toEqual([["0:1", "0:3"]]);
  });

  it("is not marked where it is a count that is the same again, and is where nothing became something", () => {
    expect(marks(["name", 0, 7, 0], ["name", 0, 7, 1])).toEqual([["0:3"]]);
  });
});
