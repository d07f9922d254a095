/**
 * The benchmark: `node bench/run.ts [--quick] [--json] [--list] [--only NAME,…]`.
 *
 * Prints what it finds and, unless quick, keeps it: see results.ts. A missed target is written down and fails nothing; a case
 * that cannot be measured does.
 */
import { execFile } from "node:child_process";
import { parseArgs, promisify } from "node:util";
import type { Case } from "./case.ts";
import { CASES } from "./cases.ts";
import { Lab } from "./lab.ts";
import { once, settle, type Settled } from "./noise.ts";
import { renderFinding } from "./report.ts";
import { readResults, writeResults, type Stamp } from "./results.ts";
import { readVersions } from "./versions.ts";

const HERE = import.meta.dirname;
const NAMES = CASES.map(({ name }) => name);

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      only: { type: "string", default: "" },
    },
  });
  if (options.list) return void process.stdout.write(`${NAMES.join("\n")}\n`);
  const chosen = choose(options.only);
  const show = options.json ? () => undefined : print;
  const { findings, failed } = await measure(chosen, { quick: options.quick, show });
  const stamp = await stampNow();
  const results = Object.fromEntries(findings.map(([name, finding]) => [name, { ...stamp, finding }]));
  if (options.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  if (!options.quick) await writeResults({ ...(await readResults()), ...results }, NAMES);
  process.stderr.write(`Cases: ${findings.length} measured, ${failed.length} failed ${failed.join(", ")}\n`);
  if (failed.length > 0) process.exitCode = 1;
}

function choose(only: string): readonly Case[] {
  if (only === "") return CASES;
  return only.split(",").map((asked) => {
    const found = CASES.find(({ name }) => name === asked);
    if (found === undefined) throw new Error(`There is no case ${asked}. There are: ${NAMES.join(", ")}.`);
    return found;
  });
}

interface Measuring {
  readonly quick: boolean;
  readonly show: (finding: Settled) => void;
}

interface Measured {
  readonly findings: readonly (readonly [name: string, finding: Settled])[];
  readonly failed: readonly string[];
}

/** Each in turn. One that cannot be measured says why, and the others are measured all the same. */
async function measure(cases: readonly Case[], { quick, show }: Measuring): Promise<Measured> {
  const findings: [string, Settled][] = [];
  const failed: string[] = [];
  for (const each of cases) {
    process.stderr.write(`measuring ${each.name}\n`);
    try {
      const finding = await settled(each, quick);
      findings.push([each.name, finding]);
      show(finding);
    } catch (error) {
      failed.push(each.name);
      process.stderr.write(`${each.name} could not be measured: ${String(error)}\n`);
    }
  }
  return { findings, failed };
}

/** A case of times is measured once more, in a lab of its own: nothing stored by the first serves the second. */
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
  const git = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)("git", [...args], { cwd: HERE })).stdout.trim();
  const date = new Date().toISOString().slice(0, 10);
  const versions = await readVersions(HERE);
  try {
    const changed = await git("status", "--porcelain", "--", "../src", ".");
    return { date, versions, commit: `${await git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : "+"}` };
  } catch {
    return { date, versions, commit: "no repository" };
  }
}

await main();
