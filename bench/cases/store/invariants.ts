/** How much was tried against the invariants and how often one broke, with random operations and with a fault at every place of a run. */
import { randomInt } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Case } from "../../case.ts";
import type { Check, Finding, Table } from "../../report/finding.ts";
import { Simulated, tablesOf } from "../../invariants/simulated.ts";
import type { Lab } from "../../lab/lab.ts";

const ROOT = join(import.meta.dirname, "../../..");
const OPERATIONS = 5_000;
const QUICK_OPERATIONS = 300;
/** Each measurement draws a seed below this, so each plays other operations. The seed stays short enough to type. */
const SEEDS = 1_000_000;

/** One line of the crash matrix, which says at how many of how many places each fault happened. */
const Disturbed = z.object({ shape: z.string(), places: z.record(z.string(), z.string()) });

/** Another line of it, with the model calls of all runs that a fault happened to. See test/workflows/faults/crash-matrix.test.ts. */
const Asking = z.object({
  fault: z.string(),
  runs: z.number(),
  calls: z.number(),
  again: z.number(),
  answered: z.number(),
  refused: z.number(),
  stored: z.number(),
  beyond: z.number(),
});
type Asking = z.infer<typeof Asking>;

/** The test runner's report. */
const Judged = z.object({ numFailedTests: z.number(), numPassedTests: z.number() });

interface Matrix {
  readonly rows: readonly z.infer<typeof Disturbed>[];
  readonly asking: readonly Asking[];
  /** Rows of a shape under a fault that did not end like the undisturbed run. */
  readonly broken: number;
}

const ABOUT = [
  "The simulator draws operations, bad answers of the summariser and faults of the platform from a seed, and checks every invariant after each.",
  "Each measurement draws another seed. The same one plays the same again, but for what it does not wait for: `npm run sim -- --ops N --seed S`.",
  "A violation is named with the seed that its operations were drawn from.",
  "The crash matrix lets one fault happen at one place of one run (a call of the agent, or a step's result), here at every place of every run, and the run must end as it does undisturbed, to the letter.",
  "A model call counts as asked again where a run makes more of them than the same run undisturbed.",
  "Some of these had an answer before: one on its way into the store while its step was given up, or one that an audit had refused. The others had none.",
  "Paid for twice is an answer that stood in the ledger, to be used, when its call was made again.",
  "Both are tests of the project: `npm run sim`, and `PALIMPSEST_MATRIX=full npm test` (a sample of the places without it).",
];

export const invariants: Case = { name: "invariants", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const simulated = await simulate(lab.quick ? QUICK_OPERATIONS : OPERATIONS);
  const matrix = lab.quick ? null : await disturb();
  return {
    title: "Tried against every invariant",
    about: ABOUT,
    tables: [...tablesOf(simulated), ...(matrix === null ? [] : [matrixOf(matrix), askedOf(matrix)])],
    checks: [
      { claim: "violations found by the simulator", measured: simulated.violations.length, target: 0 },
      ...(matrix === null ? [] : checkMatrix(matrix)),
    ],
    unmeasured: [
      "two faults in one run, which only the simulator draws",
      "a real process that dies: the faults of the matrix are thrown, aborted and held inside one; kills are under “Killed in the middle of a run”",
      "runs of other shapes than these, and of other sizes",
      ...(lab.quick ? ["the crash matrix"] : []),
    ],
  };
}

function matrixOf({ rows }: Matrix): Table {
  const faults = Object.keys(rows[0]?.places ?? {});
  return {
    caption: "The crash matrix: places disturbed, of how many",
    columns: ["run", ...faults],
    rows: rows.map(({ shape, places }) => [shape, ...faults.map((fault) => places[fault] ?? "–")]),
  };
}

const COUNTS = ["runs", "calls", "again", "answered", "refused", "stored"] as const satisfies readonly (keyof Asking)[];

function askedOf({ asking }: Matrix): Table {
  return {
    caption: "The crash matrix: model calls, over all runs of a fault",
    columns: [
      "fault",
      "runs",
      "model calls",
      "asked again",
      "answered before, not stored",
      "answered before, refused by an audit",
      "answered before and stored",
    ],
    rows: [
      ...asking.map((row) => [row.fault, ...COUNTS.map((name) => row[name])]),
      ["all", ...COUNTS.map((name) => total(asking, name))],
    ],
  };
}

function total(asking: readonly Asking[], name: Exclude<keyof Asking, "fault">): number {
  return asking.reduce((all, row) => all + row[name], 0);
}

function checkMatrix({ broken, asking }: Matrix): Check[] {
  return [
    { claim: "rows of the crash matrix that end differently", measured: broken, target: 0 },
    { claim: "answers of the crash matrix that are paid for twice", measured: total(asking, "stored"), target: 0 },
    {
      claim:
        "answers of the crash matrix asked for again, beyond those on their way into the store as their step was given up",
      measured: total(asking, "beyond"),
      target: 0,
    },
  ];
}

/** A violation does not fail this function, because violations are counted. */
async function simulate(operations: number): Promise<Simulated> {
  const seed = String(randomInt(SEEDS));
  const asked = ["--ops", String(operations), "--seed", seed, "--json", "--no-keep"];
  const { stdout } = await run([join(ROOT, "scripts/sim.ts"), ...asked]);
  if (stdout === "") throw new Error(`The simulator failed by itself, from seed ${seed} on.`);
  return Simulated.parse(JSON.parse(stdout));
}

async function disturb(): Promise<Matrix> {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-matrix-"));
  try {
    const report = join(folder, "report.json");
    const asked = `run --project workerd test/workflows/faults/crash-matrix.test.ts --disable-console-intercept --reporter default --reporter json --outputFile.json ${report}`;
    const { stdout } = await run([join(ROOT, "node_modules/vitest/vitest.mjs"), ...asked.split(" ")], {
      PALIMPSEST_MATRIX: "full",
    });
    const rows = readLines(stdout, "@matrix ", Disturbed);
    const asking = readLines(stdout, "@asked ", Asking);
    // Without any disturbed place nothing could break, and the check would pass.
    if (rows.length === 0 || asking.length === 0) {
      throw new Error("The crash matrix told of no place that was disturbed.");
    }
    return { rows, asking, broken: Judged.parse(JSON.parse(await readFile(report, "utf8"))).numFailedTests };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readLines<T>(text: string, mark: string, as: z.ZodType<T>): T[] {
  const lines = text.split("\n").filter((line) => line.startsWith(mark));
  return lines.map((line) => as.parse(JSON.parse(line.slice(mark.length))));
}

async function run(args: readonly string[], vars: Readonly<Record<string, string>> = {}): Promise<{ stdout: string }> {
  const env = { ...process.env, ...vars };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (stdout += piece));
  await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  return { stdout };
}
