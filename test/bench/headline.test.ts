/** The figures of the README are the measured ones. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { showFigures } from "../../bench/report/headline.ts";
import type { Results } from "../../bench/report/results.ts";

const [BEGIN, END] = ["<!-- measured: written by npm run bench -->", "<!-- end of measured -->"];
const SHORT = "<!-- measured in short: written by npm run bench -->\n<!-- end of measured in short -->";
const EMPTY = `${SHORT}\n${BEGIN}\n${END}`;
const ROOT = join(import.meta.dirname, "../..");

async function readAll(): Promise<{ readme: string; results: Results }> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const results = JSON.parse(await readFile(join(ROOT, "bench/results.json"), "utf8")) as Results;
  return { readme, results };
}

test("every figure of the README's proof is the one in bench/results.json", async () => {
  const { readme, results } = await readAll();
  expect(readme).toBe(showFigures(readme, results));
});

test("each promise at the README's top has a figure, and that of the SDK's sessions beside it", async () => {
  const { readme, results } = await readAll();
  const top = readme.slice(0, readme.indexOf("## Use it"));
  const promises = top.split("\n").filter((line) => line.startsWith("- **"));
  expect(promises).toHaveLength(3);
  for (const promise of promises)
    expect(promise).toMatch(/ [\d,]+ (?:ms|rows|times).*\((?:the SDK's sessions: )?[\d,]+\)\.$/);
  expect(showFigures(EMPTY, results)).toContain(promises.join("\n"));
});

test("the README stays short: 275 lines of 120 characters, most of them code to paste", async () => {
  const lines = (await readAll()).readme.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(275);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

test("a README without room for figures is refused, not overwritten", () => {
  for (const readme of ["# Palimpsest", SHORT, `${BEGIN}\n${END}`])
    expect(() => showFigures(readme, {})).toThrow(/no room for figures/);
});
