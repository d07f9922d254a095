/** The figures of the README are the measured ones. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { showFigures } from "../../bench/report/headline.ts";
import { once } from "../../bench/report/noise.ts";
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

test("the README says what a reader answers from ours, beside the version before, the SDK's summary and the floor, once ours was examined", () => {
  const columns = ["arm", "use", "date", "sessions", "questions", "score"];
  const others = [
    ["head and tail", "show", "2026-11-27", 6, 120, "0.06"],
    ["palimpsest 0.1.0 before", "show", "2026-11-27", 6, 120, "0.31"],
    ["agents/sessions 0.32", "show", "2026-11-27", 6, 120, "0.57"],
  ];
  const ours = ["palimpsest 0.1.0", "show", "2026-11-28", 6, 120, "0.73"];
  const shownOf = (rows: (string | number)[][]): string => {
    const finding = once({ title: "", about: "", checks: [], tables: [{ caption: "Means", columns, rows }] });
    return showFigures(EMPTY, { minds: { date: "", commit: "", versions: {}, finding } });
  };
  const shown = shownOf([...others, ours]);
  for (const line of ["before: 0.31", "now: 0.73", "SDK's summary: 0.57", "alone 0.06", "6 recorded"])
    expect(shown).toContain(line);
  expect(shownOf(others)).not.toContain("exam");
  expect(showFigures(EMPTY, {})).not.toContain("exam");
});

test("the README says what conversations are billed at by their rent, beside the SDK's sessions", () => {
  const columns = ["policy", "bill, geometric mean", "worst session", "there"];
  const rows = [
    ["sdk at 60,000", 1, 1, "a-1"],
    ["rent", 0.77, 1.04, "a-2"],
  ];
  const caption = "31 sessions, dear writes: bills over that of the sdk at 60,000";
  const finding = once({ title: "", about: "", checks: [], tables: [{ caption, columns, rows }] });
  const shown = showFigures(EMPTY, { cost: { date: "", commit: "", versions: {}, finding } });
  for (const figure of ["31 sessions", "0.77"]) expect(shown).toContain(figure);
});

test("a line that was measured of nobody is not shown, and one that was of some is", () => {
  const columns = ["operation", "N", "ours read", "written", "0.32 read", "written", "0.20 read", "written"];
  const rows = [["first view", 9_000, 32, 0, 77, 0, 1, 0]];
  const finding = once({ title: "", about: "", checks: [], tables: [{ columns, rows }] });
  const shown = showFigures(EMPTY, { growth: { date: "", commit: "", versions: {}, finding } });
  expect(shown).toMatch(/first view of 9,000 messages \| +32 \| +77 \| +1 \| +– \|/);
  expect(shown).not.toContain("Names");
});

const behind = {
  columns: ["store", "p99 ms", "worst ms"],
  rows: [
    ["Ours", 2, 71],
    ["Sdk032", 4, 5_005],
  ],
};

test("the worst append is told in milliseconds, from when it was due and not from when it was called", () => {
  const called = { ...behind, caption: "from when each was called", rows: [["Ours", 1, 3]] };
  const tables = [called, { ...behind, caption: "from when each was due" }];
  const finding = once({ title: "", about: "", checks: [], tables });
  const results = { "behind-summariser": { date: "", commit: "", versions: {}, finding } };
  expect(showFigures(EMPTY, results)).toMatch(/while a summariser takes 5 s \| +71 \| +5,005 \| +– \| +– \|/);
});

test("a README without room for figures is refused, not overwritten", () => {
  for (const readme of ["# Palimpsest", SHORT, `${BEGIN}\n${END}`])
    expect(() => showFigures(readme, {})).toThrow(/no room for figures/);
});
