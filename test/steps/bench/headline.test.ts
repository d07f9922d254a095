/** The figures of the README are those that were measured. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { showFigures } from "../../../bench/headline.ts";
import { once } from "../../../bench/noise.ts";
import type { Results } from "../../../bench/results.ts";

const [BEGIN, END] = ["<!-- measured: written by npm run bench -->", "<!-- end of measured -->"];
const ROOT = join(import.meta.dirname, "../../..");

async function readAll(): Promise<{ readme: string; results: Results }> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const results = JSON.parse(await readFile(join(ROOT, "bench/results.json"), "utf8")) as Results;
  return { readme, results };
}

test("every figure of the README's proof is the one in bench/results.json", async () => {
  const { readme, results } = await readAll();
  expect(readme).toBe(showFigures(readme, results));
});

test("nothing that the README's table shows was left unmeasured", async () => {
  const { readme } = await readAll();
  const rows = readme.split("\n").filter((line) => line.startsWith("|") && line.includes("compactions |"));
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).not.toContain("–");
});

test("a line that was measured of nobody is not shown, and one that was of some is", () => {
  const columns = ["operation", "N", "ours read", "written", "0.32 read", "written", "0.20 read", "written"];
  const rows = [["start", 9_000, 32, 0, 77, 0, 1, 0]];
  const finding = once({ title: "", about: "", checks: [], tables: [{ columns, rows }] });
  const shown = showFigures(`${BEGIN}\n${END}`, { growth: { date: "", commit: "", versions: {}, finding } });
  expect(shown).toMatch(/start of its object \| +32 \| +– \| +77 \| +1 \|/);
  expect(shown).not.toContain("first view");
});

test("a README without room for figures is refused, not overwritten", () => {
  expect(() => showFigures("# Palimpsest", {})).toThrow(/no room for figures/);
});
