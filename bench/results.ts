/** What was measured, as it is kept: bench/results.json, and the pages and pictures that are made from it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { showFigures } from "./headline.ts";
import type { Settled } from "./noise.ts";
import { drawPlot } from "./plot.ts";
import { renderFinding } from "./report.ts";

const HERE = import.meta.dirname;
const FILE = join(HERE, "results.json");
const README = join(HERE, "../README.md");

/** Of each finding: what it was measured with. */
export interface Stamp {
  /** ISO 8601. */
  readonly date: string;
  /** Of the sources, as git names it; with "+" where they were changed since. */
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

/** `order` are the names of all cases: what has no case any more is not kept. */
export async function writeResults(results: Results, order: readonly string[]): Promise<void> {
  const kept = order.flatMap((name) => {
    const result = results[name];
    return result === undefined ? [] : [[name, result] as const];
  });
  await writeFile(FILE, `${JSON.stringify(Object.fromEntries(kept), round, 2)}\n`);
  // As they are kept, with the digits that they are kept with: a test reads them again and must come to the same.
  await writeFile(README, showFigures(await readFile(README, "utf8"), await readResults()));
  await writeFile(join(HERE, "RESULTS.md"), renderPage(kept.map(([, result]) => result)));
  for (const plot of kept.flatMap(([, { finding }]) => finding.plots ?? [])) {
    await writeFile(join(HERE, "../docs/images", pictureOf(plot.file)), drawPlot(plot));
  }
  for (const { file, text } of kept.flatMap(([, { finding }]) => finding.pages ?? [])) {
    await writeFile(join(HERE, "../docs", file), text);
  }
}

function pictureOf(file: string): string {
  return `bench-${file}.svg`;
}

function renderPage(results: readonly Results[string][]): string {
  const stamps = [...new Set(results.map((result) => describe(result)))];
  const head = `Written by \`npm run bench\`. Rows, requests, steps, tokens and shares are exact. Times are of one machine with others at work on it: read the ratios, each taken within one run. \`~\` marks a number that differed by more than a fifth between two measurements of the same build: noise. A promise about times shows both.`;
  const findings = results.map(({ finding }) => renderFinding(finding, showPicture));
  return `${["# Benchmark", head, stamps.map((stamp) => `- ${stamp}`).join("\n"), ...findings].join("\n\n")}\n`;
}

function showPicture(file: string, title: string): string {
  return `![${title}](../docs/images/${pictureOf(file)})`;
}

function describe({ date, commit, versions }: Stamp): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `Measured on ${date} at ${commit} with ${list.join(", ")}`;
}

/** More digits than four are noise. */
function round(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
}
