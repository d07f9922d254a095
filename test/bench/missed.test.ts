/** The page of results lists a missed bound under its case. */
import { expect, test } from "vitest";
import type { Check } from "../../bench/report/finding.ts";
import { listMissed } from "../../bench/report/missed.ts";
import { once } from "../../bench/report/noise.ts";
import type { Results } from "../../bench/report/results.ts";

const missed = (claim: string): Check => ({ claim, measured: 3, target: 2 });
const kept: Check = { claim: "is kept", measured: 1, target: 1 };

function resultsOf(cases: Readonly<Record<string, readonly Check[]>>): Results {
  return Object.fromEntries(
    Object.entries(cases).map(([title, checks]) => [
      title,
      { date: "", commit: "", versions: {}, finding: once({ title, about: "", tables: [], checks }) },
    ]),
  );
}

test("the whole list leaves none out, under the title of its case", () => {
  const many = ["one", "two", "three", "four"].map(missed);
  const list = listMissed(resultsOf({ Rows: [kept], Sight: [...many, kept] }));
  expect(list.split("\n")).toHaveLength(2 + many.length);
  for (const { claim } of many) expect(list).toContain(`- ${claim} is 3, and should be at most 2`);
  expect(list).not.toContain("Rows");
});

test("where all is kept, there is nothing to list", () => {
  const results = resultsOf({ Rows: [kept] });
  expect(listMissed(results)).toBe("");
});
