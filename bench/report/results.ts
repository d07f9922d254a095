/** The stored results, bench/results.json, and the pages and pictures that are made from them. */
import { readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isKept } from "./finding.ts";
import { describeKept, renderHeadline, showFigures } from "./headline.ts";
import { listMissed } from "./missed.ts";
import type { Settled } from "./noise.ts";
import { drawPlot } from "./plot.ts";
import { renderFinding } from "./render.ts";
import { fourDigits } from "./stats.ts";
import { SOURCES } from "../talk/transcripts.ts";
import { isInHistory } from "../versions.ts";
import { listLosses, READ } from "./worse.ts";

/** The folder of the benchmark. */
const HERE = join(import.meta.dirname, "..");
const FILE = join(HERE, "results.json");
/** The folder with a page of each case, in the folders of the cases. */
const PAGES = "results";

/** The path of a case's page, from the folder of the benchmark. */
export function pageOf(name: string): string {
  const cases = readdirSync(join(HERE, "cases"), { recursive: true, encoding: "utf8" });
  const found = cases.find((path) => basename(path) === `${name}.ts`);
  if (found === undefined) throw new Error(`The case "${name}" has no file of its name in bench/cases.`);
  return `${PAGES}/${dirname(found)}/${name}.md`;
}
const README = join(HERE, "../README.md");

/** The conditions of a measurement. */
export interface Stamp {
  /** ISO 8601. */
  readonly date: string;
  /** The short id of a pushed commit, with "+" where the sources have changed since. */
  readonly commit: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** By the name of its case. */
export type Results = Readonly<Record<string, Stamp & { readonly finding: Settled }>>;

/** An empty record where nothing was measured yet. */
export async function readResults(): Promise<Results> {
  const text = await readFile(FILE, "utf8").catch(() => "{}");
  return JSON.parse(text) as Results;
}

/** `order` holds the names of all cases. A result without a case is dropped. */
export async function writeResults(results: Results, order: readonly string[]): Promise<void> {
  const kept = order.flatMap((name) => {
    const result = results[name];
    return result === undefined ? [] : [[name, result] as const];
  });
  await writeFile(FILE, `${JSON.stringify(Object.fromEntries(kept), round, 2)}\n`);
  await renderResults();
}

/** Makes pages and pictures from the stored results with their stored digits, so that a later rendering gives the same. */
export async function renderResults(): Promise<void> {
  const results = await readResults();
  const findings = Object.values(results).map(({ finding }) => finding);
  await writeFile(README, showFigures(await readFile(README, "utf8"), results));
  await writeFile(join(HERE, "RESULTS.md"), renderPage(results));
  // Removes the page of a case that no longer exists.
  await rm(join(HERE, PAGES), { recursive: true, force: true });
  for (const [name, result] of Object.entries(results)) {
    const isKnown = await isInHistory(HERE, result.commit);
    await mkdir(dirname(join(HERE, pageOf(name))), { recursive: true });
    await writeFile(join(HERE, pageOf(name)), renderCase(result, isKnown));
  }
  for (const plot of findings.flatMap(({ plots }) => plots ?? [])) {
    await writeFile(join(HERE, "../docs/images", pictureOf(plot.file)), drawPlot(plot));
  }
  for (const { file, text } of findings.flatMap(({ pages }) => pages ?? [])) {
    await writeFile(join(HERE, "../docs", file), text);
  }
}

function pictureOf(file: string): string {
  return `bench-${file}.svg`;
}

/** The page for a reader with ten minutes. It lists the questions, the results and where another is better. */
export function renderPage(results: Results): string {
  const parts = [
    "# Benchmark",
    INTRODUCTION,
    "## In short",
    renderHeadline(results),
    describeKept(results),
    "## The cases",
    "A bound is what a case promises; the page of a case has its tables and all of them. Run one with `npm run bench -- NAME`.",
    renderCases(results),
    renderMissed(results),
    renderLosses(results),
    "## Where the conversations are from",
    SOURCES,
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const INTRODUCTION = `Written by \`npm run bench\`, which measures Palimpsest beside the sessions of two versions of the Agents SDK and beside a policy that
keeps the head and the tail: the same messages, the same summariser, views of the same size. \`npm run bench -- --quick\` shows in two minutes that
all of it still runs. The data are in \`bench/results.json\` of the repository.

Rows, requests, steps, tokens and shares are exact. Times are of one machine with others at work on it, so read the ratios. Each is taken within one
run, and where a case was measured twice, the mean of both is judged, and \`~\` marks a number that differed by more than a fifth.`;

function renderCases(results: Results): string {
  const rows = Object.entries(results).map(([name, { finding }]) => {
    const kept = finding.checks.filter(isKept).length;
    const bounds = finding.checks.length === 0 ? "none" : `${kept} of ${finding.checks.length}`;
    return `| [${finding.title}](${pageOf(name)}) | \`${name}\` | ${bounds} |`;
  });
  return ["| Case | Name | Bounds kept |", "| --- | --- | ---: |", ...rows].join("\n");
}

/** The page of one case. A commit that is not in the history is not named, because nobody could look at it. */
export function renderCase(result: Results[string], isKnown: boolean): string {
  const stamp = isKnown ? result : { ...result, commit: "a commit that is not in the history any more" };
  // Findings name pages from the folder of the benchmark.
  const page = renderFinding(result.finding, showPicture).replace(/^## /, "# ").replaceAll("](../", "](../../");
  return `${page}\n\n${describe(stamp)}.\n`;
}

function renderMissed(results: Results): string {
  const missed = listMissed(results);
  return missed === "" ? "" : `## Bounds that are missed\n\n${missed}`;
}

function renderLosses(results: Results): string {
  const lists = listLosses(results).map(
    ({ title, losses }) => `**${title}**\n\n${losses.map(({ says }) => `- ${says}`).join("\n")}`,
  );
  const about = `Read from the tables of the cases: ${READ}. Of these, each number of ours that is worse than another's; of times, by more than a twentieth. What else the tables show is not compared here.`;
  return ["## Where another is better", about, ...lists].join("\n\n");
}

function showPicture(file: string, title: string): string {
  return `![${title}](../../docs/images/${pictureOf(file)})`;
}

function describe({ date, commit, versions }: Stamp): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `Measured on ${date} at ${commit} with ${list.join(", ")}`;
}

function round(_key: string, value: unknown): unknown {
  return typeof value === "number" ? fourDigits(value) : value;
}
