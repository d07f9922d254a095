/** How much was tried against the invariants, and how often one broke: random operations, and a fault at every place of a run. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Case } from "../case.ts";
import type { Finding, Table } from "../finding.ts";
import type { Lab } from "../lab.ts";

const ROOT = join(import.meta.dirname, "../..");
const OPERATIONS = 5_000;
const QUICK_OPERATIONS = 300;

const counts = z.record(z.string(), z.number());

/** What `npm run sim -- --json` prints, as far as it is told here. */
const Simulated = z.object({
  operations: z.number(),
  tally: z.object({ operations: counts, refused: counts, outcomes: counts, answers: counts, checks: counts }),
  violations: z.array(z.unknown()),
});

/** A line of the crash matrix: of each fault, at how many places of how many it happened. */
const Disturbed = z.object({ shape: z.string(), places: z.record(z.string(), z.string()) });

/** The test runner's report. */
const Judged = z.object({ numFailedTests: z.number(), numPassedTests: z.number() });

interface Matrix {
  readonly rows: readonly z.infer<typeof Disturbed>[];
  /** Rows of a shape under a fault that did not end like the undisturbed run. */
  readonly broken: number;
}

export const invariants: Case = { name: "invariants", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const simulated = await simulate(lab.quick ? QUICK_OPERATIONS : OPERATIONS);
  const matrix = lab.quick ? null : await disturb();
  return {
    title: "Tried against every invariant",
    about:
      "The simulator draws operations, bad answers of the summariser and faults of the platform from a seed and checks every invariant after each; the same seed draws the same. The crash matrix lets one fault happen at one place of one run (a call of the agent, or a step's result), and the run must end as it does undisturbed, to the letter. Both are tests of the project: `npm run sim`, `npm test`.",
    tables: [tableOf(simulated), ...(matrix === null ? [] : [matrixOf(matrix)])],
    checks: [
      { claim: "violations found by the simulator", measured: simulated.violations.length, target: 0 },
      ...(matrix === null
        ? []
        : [{ claim: "rows of the crash matrix that end differently", measured: matrix.broken, target: 0 }]),
    ],
    unmeasured: [
      "two faults in one run, which only the simulator draws",
      "how many model calls a fault repeats: the matrix bounds them (answers of a step that was given up, and nothing else) but does not tell of them; after a kill they are counted, under “Killed in the middle of a run”",
      lab.quick
        ? "the crash matrix"
        : "places that are not drawn: `PALIMPSEST_MATRIX=full npm test` disturbs every one",
    ],
  };
}

function tableOf({ operations, tally, violations }: z.infer<typeof Simulated>): Table {
  return {
    caption: "The simulator",
    columns: ["operations", "of kinds", "refused", "runs", "by outcomes", "model calls", "checks", "violations"],
    rows: [
      [
        operations,
        Object.keys(tally.operations).length,
        sum(tally.refused),
        sum(tally.outcomes),
        Object.keys(tally.outcomes).length,
        sum(tally.answers),
        sum(tally.checks),
        violations.length,
      ],
    ],
  };
}

function sum(of: Readonly<Record<string, number>>): number {
  return Object.values(of).reduce((total, each) => total + each, 0);
}

function matrixOf({ rows }: Matrix): Table {
  const faults = Object.keys(rows[0]?.places ?? {});
  return {
    caption: "The crash matrix: places disturbed, of how many",
    columns: ["run", ...faults],
    rows: rows.map(({ shape, places }) => [shape, ...faults.map((fault) => places[fault] ?? "–")]),
  };
}

/** A violation is no failure of this: it is what is counted. */
async function simulate(operations: number): Promise<z.infer<typeof Simulated>> {
  const { stdout } = await run([join(ROOT, "scripts/sim.ts"), "--ops", String(operations), "--json"]);
  return Simulated.parse(JSON.parse(stdout));
}

async function disturb(): Promise<Matrix> {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-matrix-"));
  try {
    const report = join(folder, "report.json");
    const asked = `run --project workerd test/workflows/crash-matrix.test.ts --disable-console-intercept --reporter default --reporter json --outputFile.json ${report}`;
    const { stdout } = await run([join(ROOT, "node_modules/vitest/vitest.mjs"), ...asked.split(" ")]);
    const rows = stdout
      .split("\n")
      .filter((line) => line.startsWith("@matrix "))
      .map((line) => Disturbed.parse(JSON.parse(line.slice("@matrix ".length))));
    // Nothing disturbed is nothing broken, and would pass.
    if (rows.length === 0) throw new Error("The crash matrix told of no place that was disturbed.");
    return { rows, broken: Judged.parse(JSON.parse(await readFile(report, "utf8"))).numFailedTests };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(args: readonly string[]): Promise<{ stdout: string }> {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (stdout += piece));
  await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  return { stdout };
}
