/**
 * The benchmark's command line. See {@link USAGE}.
 *
 * Prints its findings and, unless quick, stores them case by case with report/results.ts. A missed target is recorded and fails nothing. A case
 * that cannot be measured fails the run.
 */
import { parseArgs } from "node:util";
import type { Case } from "./case.ts";
import { CASES } from "./cases.ts";
import { Lab } from "./lab/lab.ts";
import { once, settle, type Settled } from "./report/noise.ts";
import { renderFinding } from "./report/render.ts";
import { readResults, renderResults, writeResults, type Results, type Stamp } from "./report/results.ts";
import { readCommit, readVersions } from "./versions.ts";

const USAGE = `node bench/run.ts [options]

  --only NAME,…  these cases (default: all)
  --quick        the smallest inputs, to see that every case can be measured; judges no time and keeps nothing
  --json         print what was measured as JSON
  --list         print the names of all cases
  --render       measure nothing: make the pages and pictures again from bench/results.json
  --help         this

PALIMPSEST_TRANSCRIPTS names a folder of conversations to measure on.
`;
const HERE = import.meta.dirname;
const NAMES = CASES.map(({ name }) => name);

async function main(): Promise<void> {
  const options = readOptions();
  if (options.help) return void process.stdout.write(USAGE);
  if (options.list) return void process.stdout.write(`${NAMES.join("\n")}\n`);
  if (options.render) return renderResults();
  // Taken before measuring, because a source that changes meanwhile was not measured.
  const stamp = await stampNow();
  const measured: Record<string, Results[string]> = {};
  const keep = async (name: string, finding: Settled): Promise<void> => {
    measured[name] = { ...stamp, finding };
    if (!options.json) print(finding);
    if (options.quick) return;
    if (finding.tables.length === 0) {
      process.stderr.write(`${name} measured nothing here, so its stored result stays.\n`);
      return;
    }
    await writeResults({ ...(await readResults()), [name]: measured[name] }, NAMES);
  };
  const failed = await measure(options.cases, { quick: options.quick, keep });
  if (options.json) process.stdout.write(`${JSON.stringify(measured, null, 2)}\n`);
  const count = Object.keys(measured).length;
  process.stderr.write(`Cases: ${count} measured, ${failed.length} failed ${failed.join(", ")}\n`);
  if (failed.length > 0) process.exitCode = 1;
}

function readOptions() {
  const flag = { type: "boolean", default: false } as const;
  try {
    const options = {
      quick: flag,
      json: flag,
      list: flag,
      render: flag,
      help: flag,
      only: { type: "string" },
    } as const;
    const { values } = parseArgs({ options });
    return { ...values, cases: choose(values.only) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return process.exit(2);
  }
}

function choose(only: string | undefined): readonly Case[] {
  if (only === undefined) return CASES;
  return only.split(",").map((asked) => {
    const found = CASES.find(({ name }) => name === asked.trim());
    if (found === undefined) throw new Error(`There is no case "${asked}". There are: ${NAMES.join(", ")}.`);
    return found;
  });
}

interface Measuring {
  readonly quick: boolean;
  readonly keep: (name: string, finding: Settled) => Promise<void>;
}

/** Measures the cases in turn and returns the names of those that failed. A failure is printed and does not stop the others. */
async function measure(cases: readonly Case[], { quick, keep }: Measuring): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const each of cases) {
    process.stderr.write(`measuring ${each.name}\n`);
    try {
      await keep(each.name, await settled(each, quick));
    } catch (error) {
      failed.push(each.name);
      process.stderr.write(`${each.name} could not be measured: ${String(error)}\n`);
    }
  }
  return failed;
}

/** Measures a case of times twice, each time in a lab of its own, so that no state of the first measurement serves the second. */
async function settled(each: Case, quick: boolean): Promise<Settled> {
  const first = await inLab(each, quick);
  return quick || !each.timed ? once(first) : settle(first, await inLab(each, quick));
}

async function inLab({ measure: take }: Case, quick: boolean) {
  const lab = await Lab.open({ quick });
  try {
    return await take(lab);
  } finally {
    await lab.close();
  }
}

function print(finding: Settled): void {
  process.stdout.write(`${renderFinding(finding, null)}\n\n`);
}

async function stampNow(): Promise<Stamp> {
  const date = new Date().toISOString().slice(0, 10);
  return { date, versions: await readVersions(HERE), commit: await readCommit(HERE) };
}

// A reader that closes the pipe early does not stop the measuring.
process.stdout.on("error", () => undefined);
await main();
