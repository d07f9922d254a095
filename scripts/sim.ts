/**
 * `npm run sim` plays random operations, faults and bad answers against the real agent and checks every invariant after each.
 *
 * Starts the simulator (test/sim) in the platform's runtime in stretches and adds up what it reports. Keeps each list of operations that
 * broke an invariant where the tests play it first. Judges nothing itself. Each stretch is a process of its own, so a run of any length
 * takes as much memory as one stretch.
 */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { EPISODE, type Operation } from "../test/sim/operations.ts";
import { addTally, emptyTally, type Tally } from "../test/sim/tally.ts";
import { duration, pad, plural } from "./report/text.ts";

const USAGE = `npm run sim -- [options]

  --ops N     how many operations (default 10000)
  --seed N    the first seed (default 1): the same one draws the same operations
  --json      print what was done as JSON
  --no-keep   leave test/sim/seeds.json as it is, whatever is found
`;

/** Operations of one process. */
const STRETCH = 40 * EPISODE;
const SHRINK_MS = 120_000;
/** Lines of output that are shown when a process fails by itself. */
const LAST_LINES = 30;
const SEEDS = join(import.meta.dirname, "../test/sim/seeds.json");
const VITEST = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");

interface Violation {
  readonly seed: string;
  readonly invariant: string;
  readonly detail: string;
  readonly operations: readonly Operation[];
  readonly log: readonly string[];
}

/** The messages of a process, one line of JSON each. */
type Told =
  | { readonly kind: "episode"; readonly seed: string; readonly operations: number }
  | { readonly kind: "tally"; readonly tally: Tally }
  | ({ readonly kind: "violation" } & Violation);

interface Report {
  readonly operations: number;
  readonly seed: number;
  readonly ms: number;
  readonly tally: Tally;
  readonly violations: readonly Violation[];
}

function readOptions(): { operations: number; seed: number; json: boolean; keep: boolean } {
  const { values } = parseArgs({
    options: {
      ops: { type: "string", default: "10000" },
      seed: { type: "string", default: "1" },
      json: { type: "boolean", default: false },
      "no-keep": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [operations, seed] = [Number(values.ops), Number(values.seed)];
  const valid = Number.isSafeInteger(operations) && operations > 0 && Number.isSafeInteger(seed) && seed >= 0;
  if (values.help || !valid) {
    process.stdout.write(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  return { operations, seed, json: values.json, keep: !values["no-keep"] };
}

async function simulate({ operations, seed }: { operations: number; seed: number }): Promise<Report> {
  const start = performance.now();
  const tally = emptyTally();
  const violations: Violation[] = [];
  let done = 0;
  const progress = (): void =>
    showProgress({ done, operations, ms: performance.now() - start, violations: violations.length });
  const hear = (told: Told): void => {
    if (told.kind === "tally") addTally(tally, told.tally);
    else if (told.kind === "violation") violations.push(told);
    else done += told.operations;
    if (process.stderr.isTTY) progress();
  };
  for (let from = 0; from < operations && violations.length === 0; from += STRETCH) {
    await playStretch({ operations: Math.min(STRETCH, operations - from), seed: seed + from / EPISODE }, hear);
    progress();
  }
  if (process.stderr.isTTY) process.stderr.write("\n");
  return { operations: done, seed, ms: Math.round(performance.now() - start), tally, violations };
}

async function playStretch(stretch: { operations: number; seed: number }, hear: (told: Told) => void): Promise<void> {
  const env = {
    ...process.env,
    PALIMPSEST_SIM_OPERATIONS: String(stretch.operations),
    PALIMPSEST_SIM_SEED: String(stretch.seed),
    PALIMPSEST_SIM_SHRINK_MS: String(SHRINK_MS),
  };
  const args = [VITEST, "run", "--project", "workerd", "test/sim", "--disable-console-intercept"];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const exit = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("exit", resolve));
  const last: string[] = [];
  let broken = false;
  const read = async (stream: NodeJS.ReadableStream): Promise<void> => {
    for await (const line of createInterface({ input: stream })) {
      last.push(line);
      if (last.length > LAST_LINES) last.shift();
      if (!line.startsWith("@sim ")) continue;
      const told = JSON.parse(line.slice("@sim ".length)) as Told;
      broken ||= told.kind === "violation";
      hear(told);
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  const code = await exit;
  if (code !== 0 && !broken) throw new Error(`The simulator failed by itself (exit code ${code}):\n${last.join("\n")}`);
}

/** One line, which redraws itself in a terminal. */
function showProgress(at: { done: number; operations: number; ms: number; violations: number }): void {
  const line = `${at.done.toLocaleString("en")} of ${plural(at.operations, "operation")}, ${duration(at.ms)}, ${plural(at.violations, "violation")}`;
  process.stderr.write(process.stderr.isTTY ? `\r\u001B[K${line}` : `${line}\n`);
}

/** Appends to the file that the simulator's test plays before anything else. */
async function keep(violations: readonly Violation[]): Promise<void> {
  const known = JSON.parse(await readFile(SEEDS, "utf8")) as { why: string; list: readonly Operation[] }[];
  const found = violations.map(({ invariant, seed, operations }) => ({
    why: `${invariant} (seed ${seed})`,
    list: operations,
  }));
  await writeFile(SEEDS, printSeeds([...known, ...found]));
}

/** Printed as the formatter leaves it, one operation per line. */
function printSeeds(seeds: readonly { readonly why: string; readonly list: readonly Operation[] }[]): string {
  const printed = seeds.map(({ why, list }) => {
    const lines = list.map(printOperation).join(",\n");
    return `  {\n    "why": ${JSON.stringify(why)},\n    "list": [\n${lines}\n    ]\n  }`;
  });
  return `[\n${printed.join(",\n")}\n]\n`;
}

function printOperation(operation: Operation): string {
  const fields = Object.entries(operation).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `      { ${fields.join(", ")} }`;
}

const HEADINGS: Readonly<Record<keyof Tally, string>> = {
  operations: "Operations",
  refused: "Refused, by code",
  outcomes: "Runs, by outcome",
  answers: "Model calls, by answer",
  checks: "Checks, by invariant",
  met: "Met on the way",
};

function render({ operations, seed, ms, tally, violations }: Report, kept: boolean): string {
  const parts = (Object.keys(HEADINGS) as (keyof Tally)[]).map((part) => {
    const rows = Object.entries(tally[part]).toSorted((a, b) => b[1] - a[1]);
    const sum = rows.reduce((total, [, times]) => total + times, 0);
    return [`${HEADINGS[part]}: ${sum.toLocaleString("en")}`, ...rows.map(renderRow)].join("\n");
  });
  const found = violations.map(
    ({ seed, detail, log }) =>
      `Seed ${seed}: ${detail}\nafter\n  ${log.join("\n  ")}${kept ? "\nIt is kept in test/sim/seeds.json." : ""}`,
  );
  const end = `${plural(operations, "operation")} from seed ${seed} on in ${duration(ms)}: ${plural(violations.length, "violation")}.`;
  return `${[...parts, ...found, end].join("\n\n")}\n`;
}

function renderRow([what, times]: [string, number]): string {
  return `  ${pad(what, 44)}${pad(times.toLocaleString("en"), 12, "right")}`;
}

const options = readOptions();
const report = await simulate(options);
if (options.keep && report.violations.length > 0) await keep(report.violations);
process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : render(report, options.keep));
process.exitCode = report.violations.length === 0 ? 0 : 1;
