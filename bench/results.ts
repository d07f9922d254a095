/** What was measured, as it is kept: bench/results.json, and the pages and pictures that are made from it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { showFigures } from "./headline.ts";
import { listMissed } from "./missed.ts";
import type { Settled } from "./noise.ts";
import { drawPlot } from "./plot.ts";
import { renderFinding } from "./report.ts";
import { fourDigits } from "./stats.ts";
import { SOURCES } from "./transcripts.ts";
import { listLosses, READ } from "./worse.ts";

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
  await renderResults();
}

/** Pages and pictures, of what is kept and with the digits that it is kept with: who reads it again comes to the same. */
export async function renderResults(): Promise<void> {
  const results = await readResults();
  const findings = Object.values(results).map(({ finding }) => finding);
  await writeFile(README, showFigures(await readFile(README, "utf8"), results));
  await writeFile(join(HERE, "RESULTS.md"), renderPage(results));
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

/** The page of all findings. */
export function renderPage(results: Results): string {
  const stamps = new Map<string, string[]>();
  for (const [name, result] of Object.entries(results)) {
    const stamp = describe(result);
    stamps.set(stamp, [...(stamps.get(stamp) ?? []), name]);
  }
  const measured = [...stamps].map(([stamp, names]) => `- ${stamp}${stamps.size === 1 ? "" : `: ${names.join(", ")}`}`);
  const head = `Written by \`npm run bench\`. Rows, requests, steps, tokens and shares are exact. Times are of one machine with others at work on it: read the ratios, each taken within one run. Where a case of times was measured twice, \`~\` marks a number that differed by more than a fifth between the two measurements of the same build, and a promise shows both: their mean is judged, of exact numbers the worse; times below a tenth of a millisecond count only where many operations were timed in one stretch.`;
  const findings = Object.values(results).map(({ finding }) => renderFinding(finding, showPicture));
  const parts = ["# Benchmark", head, SOURCES, measured.join("\n"), renderMissed(results), renderLosses(results)];
  return `${[...parts, ...findings].filter((part) => part !== "").join("\n\n")}\n`;
}

function renderMissed(results: Results): string {
  const missed = listMissed(results);
  return missed === "" ? "" : `## Bounds that are missed\n\n${missed}`;
}

function renderLosses(results: Results): string {
  const lists = listLosses(results).map(
    ({ title, losses }) => `**${title}**\n\n${losses.map(({ says }) => `- ${says}`).join("\n")}`,
  );
  const about = `Read from the tables below: ${READ}. Of these, each number of ours that is worse than another's; of times, by more than a twentieth. What else the tables show is not compared here.`;
  return ["## Where another is better", about, ...lists].join("\n\n");
}

function showPicture(file: string, title: string): string {
  return `![${title}](../docs/images/${pictureOf(file)})`;
}

function describe({ date, commit, versions }: Stamp): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `Measured on ${date} at ${commit} with ${list.join(", ")}`;
}

function round(_key: string, value: unknown): unknown {
  return typeof value === "number" ? fourDigits(value) : value;
}
