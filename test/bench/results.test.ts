/** The pages of the benchmark show the measured figures, with the losses. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Finding } from "../../bench/report/finding.ts";
import { once } from "../../bench/report/noise.ts";
import { renderFinding, tellSmall } from "../../bench/report/render.ts";
import { pageOf, readResults, renderCase, renderPage, type Results } from "../../bench/report/results.ts";
import { isInHistory } from "../../bench/versions.ts";
import { listLosses } from "../../bench/report/worse.ts";

const measured = (name: string, tables: Finding["tables"]): Results => ({
  [name]: { date: "", commit: "", versions: {}, finding: once({ title: "", about: "", checks: [], tables }) },
});

const times = (median: number) => ({ median, least: 0, most: 9 });

const show = (about: Finding["about"]): string =>
  renderFinding(once({ title: "Rows", about, checks: [], tables: [] }), null);

const bill = (caption: string, dollars: number) => ({
  caption: `${caption}: the bill`,
  columns: ["policy", "both $"],
  rows: [
    ["none", 2],
    ["ours", dollars],
  ],
});

test("RESULTS.md is what bench/results.json says", async () => {
  const page = await readFile(join(import.meta.dirname, "../../bench/RESULTS.md"), "utf8");
  expect(page).toBe(renderPage(await readResults()));
});

test("the page of a case is what bench/results.json says, and names no commit that is not in the history", async () => {
  const folder = join(import.meta.dirname, "../../bench");
  for (const [name, result] of Object.entries(await readResults())) {
    const isKnown = await isInHistory(folder, result.commit);
    const page = await readFile(join(folder, pageOf(name)), "utf8");
    expect(page, name).toBe(renderCase(result, isKnown));
    expect(page.includes(` at ${result.commit} with `), name).toBe(isKnown);
  }
});

test("a number that two digits could not tell from nothing is said to be small", () => {
  expect([tellSmall(0.0011), tellSmall(0), tellSmall(0.01), tellSmall(3)]).toEqual(["under 0.01", 0, 0.01, 3]);
});

test("what another does with fewer rows is listed, with the figures of the largest conversation", () => {
  const columns = [
    "operation",
    "N",
    "ours read",
    "written",
    "0.32 read",
    "written",
    "0.20 read",
    "written",
    "0.32 over ours",
    "0.20 over ours",
  ];
  const rows = [
    ["start", 900, 32, 1, 77, 1, 1, 0, 2.41, 0.03],
    ["search", 100, 5, 0, 2, 0, 9, 0, 0.4, 1.8],
    ["search", 900, 7, 0, 2, 0, 90, 0, 0.29, 12.9],
    ["view", 900, 3, 0, 3, 0, "–", "–", 1, "–"],
  ];
  expect(listLosses(measured("growth", [{ columns, rows }]))).toEqual([
    {
      title: "Rows",
      are: "counts of rows",
      losses: [
        { name: "search", says: "`search` reads 7, where 0.32 reads 2 (N = 100 to 900)" },
        { name: "start", says: "`start` reads 32, where 0.20 reads 1 (N = 900)" },
        { name: "start", says: "`start` writes 1, where 0.20 writes 0 (N = 900)" },
      ],
    },
  ]);
});

test("what another does in less time is listed, and a tie is not", () => {
  const columns = ["operation", "N", "ours, µs", "0.32 over ours", "0.20 over ours"];
  const rows = [
    ["first view, from outside", 100, 4_000, times(2), times(0.8)],
    ["update", 100, 43.2, times(0.5), times(2)],
    ["update", 100_000, 43.2, "–", "–"],
    ["view", 100, 160, times(0.97), "–"],
  ];
  expect(listLosses(measured("side-by-side", [{ columns, rows }]))).toEqual([
    {
      title: "Time",
      are: "times",
      losses: [
        { name: "update", says: "`update`: 0.32 takes 0.50 of our time (N = 100)" },
        { name: "first view, from outside", says: "`first view, from outside`: 0.20 takes 0.80 of our time (N = 100)" },
      ],
    },
  ]);
});

test("a policy that costs less is named, and a conversation that nobody keeps cheaper is not", () => {
  expect(listLosses(measured("cost-of-a-conversation", [bill("long", 1), bill("short", 3)]))).toEqual([
    { title: "Dollars", are: "bills", losses: [{ name: "short", says: "short: ours 3, none 2" }] },
  ]);
});

test("ours with notes is held to the bills of others as well, and not to that of ours without; nobody is told to read less by not compacting", () => {
  const columns = ["policy", "in", "both $"];
  const rows = [
    ["none", 0, 9],
    ["sdk", 50, 3],
    ["ours", 40, 2],
    ["ours with notes", 60, 4],
  ];
  expect(listLosses(measured("cost-of-a-conversation", [{ caption: "long: the bill", columns, rows }]))).toEqual([
    {
      title: "Tokens that a summariser reads",
      are: "counts of a summariser's tokens",
      losses: [{ name: "long", says: "long: ours with notes 60, sdk 50" }],
    },
    { title: "Dollars", are: "bills", losses: [{ name: "long", says: "long: ours with notes 4, sdk 3" }] },
  ]);
});

test("behind a summariser, more model calls and later appends are listed, and what the others wait for is not", () => {
  const called = {
    caption: "from when each was called",
    columns: ["store", "model calls", "p50 ms", "worst ms", "worst over ours"],
    rows: [
      ["Ours", 4, 0.1, 2, 1],
      ["Sdk032", 1, 0.099, 5_000, 2_500],
    ],
  };
  const due = {
    caption: "from when each was due",
    columns: ["store", "due", "worst ms", "at most late by ms"],
    rows: [
      ["Ours", 562, 71, 69],
      ["Sdk032", 555, 5_000, 0],
    ],
  };
  const late = "appends behind a summariser, at most late by ms from when each was due";
  expect(listLosses(measured("behind-summariser", [called, due]))).toEqual([
    { title: "Time", are: "times", losses: [{ name: late, says: `${late}: Ours 69, Sdk032 0` }] },
    {
      title: "Model calls",
      are: "counts of model calls",
      losses: [{ name: "the summariser: slow", says: "the summariser: slow: Ours 4, Sdk032 1" }],
    },
  ]);
});

test("a view that is larger after a summariser of no use is listed, among those with the same summariser", () => {
  const columns = ["the summariser", "store", "model calls", "view, in thresholds"];
  const rows = [
    ["fails", "Ours", 5, 1.1],
    ["fails", "Sdk032", 162, 3.5],
    ["one sentence", "Ours", 12, 1.23],
    ["one sentence", "Sdk032", 12, 0.82],
  ];
  const name = "the summariser: one sentence";
  expect(listLosses(measured("bad-summariser", [{ columns, rows }]))).toEqual([
    {
      title: "The view after a summariser of no use, in thresholds",
      are: "view sizes",
      losses: [{ name, says: `${name}: Ours 1.23, Sdk032 0.82` }],
    },
  ]);
});

test("what a reader has to know stands as a list under what was done; one sentence stays one", () => {
  expect(show(["All was read.", "Twice.", "Aloud."])).toBe("## Rows\n\nAll was read.\n\n- Twice.\n- Aloud.");
  expect(show(["All was read."])).toBe(show("All was read."));
});
