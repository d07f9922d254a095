/** A bound that is missed is told: by name where a case misses few, by their number where it misses many, and whole on the page of results. */
import { expect, test } from "vitest";
import type { Check } from "../../../bench/finding.ts";
import { listMissed, tellMissed } from "../../../bench/missed.ts";
import { once } from "../../../bench/noise.ts";
import type { Results } from "../../../bench/results.ts";

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

test("few are named, many are counted, and what is kept is neither", () => {
  const many = ["one", "two", "three", "four"].map(missed);
  const told = tellMissed(resultsOf({ Rows: [kept, missed("rows read")], Sight: [...many, kept] }), "page");
  expect(told).toBe(
    "Bounds that were missed when last measured ([all of them](page)):\n\n" +
      "- rows read is 3, and should be at most 2\n- Sight: 4 of its 5 bounds",
  );
});

test("the whole list leaves none out, under the title of its case", () => {
  const many = ["one", "two", "three", "four"].map(missed);
  const list = listMissed(resultsOf({ Rows: [kept], Sight: [...many, kept] }));
  expect(list.split("\n")).toHaveLength(2 + many.length);
  for (const { claim } of many) expect(list).toContain(`- ${claim} is 3, and should be at most 2`);
  expect(list).not.toContain("Rows");
});

test("where all is kept, that is all there is to say", () => {
  const results = resultsOf({ Rows: [kept] });
  expect(tellMissed(results, "page")).toBe("Every bound that the benchmark holds was kept when last measured.");
  expect(listMissed(results)).toBe("");
});
