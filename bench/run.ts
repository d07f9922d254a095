/**
 * The benchmark: `node bench/run.ts [--quick]`.
 *
 * Prints what it finds and, unless quick, keeps it in bench/results.json and bench/RESULTS.md. A missed target is
 * written down and fails nothing; a case that cannot be measured does.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Case, Finding } from "./case.ts";
import { timeAppends } from "./cases/append-latency.ts";
import { waitForSummariser } from "./cases/behind-summariser.ts";
import { countOperations } from "./cases/operations.ts";
import { countRows } from "./cases/rows.ts";
import { timeRuns } from "./cases/run-time.ts";
import { compareStores } from "./cases/side-by-side.ts";
import { Lab } from "./lab.ts";
import { renderFinding } from "./report.ts";
import { readVersions } from "./versions.ts";

const HERE = import.meta.dirname;

const CASES: readonly Case[] = [countRows, countOperations, timeAppends, timeRuns, compareStores, waitForSummariser];

async function main(args: readonly string[]): Promise<void> {
  const unknown = args.filter((arg) => arg !== "--quick");
  if (unknown.length > 0) throw new Error(`Unknown option ${unknown.join(" ")}. The only one is --quick.`);
  const quick = args.includes("--quick");
  const versions = await readVersions(HERE);
  const findings = await runCases(quick);
  if (quick) return;
  const date = new Date().toISOString().slice(0, 10);
  await writeFile(join(HERE, "results.json"), `${JSON.stringify({ date, versions, findings }, round, 2)}\n`);
  await writeFile(join(HERE, "RESULTS.md"), renderPage({ date, versions, findings }));
}

async function runCases(quick: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const lab = await Lab.open({ quick });
  try {
    for (const each of CASES) {
      const finding = await each(lab);
      findings.push(finding);
      process.stdout.write(`${renderFinding(finding)}\n\n`);
    }
  } finally {
    await lab.close();
  }
  return findings;
}

function renderPage(results: { date: string; versions: Record<string, string>; findings: readonly Finding[] }): string {
  const { date, versions, findings } = results;
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const head = `Written by \`npm run bench\` on ${date}, with ${list.join(", ")}. Rows are exact. Times are of one machine with others at work on it: read the ratios, each taken within this one run.`;
  return `${["# Benchmark", head, ...findings.map(renderFinding)].join("\n\n")}\n`;
}

/** More digits than four are noise. */
function round(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
}

await main(process.argv.slice(2));
