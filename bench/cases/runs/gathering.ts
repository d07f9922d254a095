/** Whether an append takes longer while the agent gathers the facts of a large session. */
import { MAX_OUTLINE_ROWS } from "../../../src/limits.ts";
import { MAX_SLICE_BYTES } from "../../../src/memory/messages/span-reader.ts";
import type { Case } from "../../case.ts";
import type { Cell, Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { mean, quantile, quantileRatio } from "../../report/stats.ts";

const MESSAGES = 20_000;
const QUICK_MESSAGES = 200;
const ROUNDS = 8;

export const gathering: Case = { name: "gathering", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const size = lab.quick ? QUICK_MESSAGES : MESSAGES;
  const shown = Math.min(size / 2, MAX_OUTLINE_ROWS);
  const {
    idle,
    gathering: meanwhile,
    gathers,
  } = await lab.client().appendWhileGathering("gathering", { size, shown }, lab.quick ? 1 : ROUNDS);
  const [middle, slowest] = [quantileRatio(meanwhile, idle, 0.5), quantileRatio(meanwhile, idle, 0.99)];
  return {
    title: "Appends while an agent gathers",
    about: [
      `One agent of ours with ${count(size)} messages, of which its view shows the newest ${count(shown)} and a summary. It gathers the facts of those for one more summary of the caller's (\`addCompaction\`), on its own thread, and commits it, while a client appends one message right after the other. ${gathers.length} times, in turn with appends while the agent does nothing.`,
      `No slice reads more than ${count(MAX_SLICE_BYTES)} bytes, and those of facts are smaller. Between two slices other calls are answered.`,
      `Milliseconds of one machine: only the ratios mean something. Gathering and the commit took ${count(Math.round(mean(gathers)))} ms beside the appends.`,
    ],
    tables: [
      {
        columns: ["the agent", "appends", "p50 ms", "p90 ms", "p99 ms", "worst ms"],
        rows: [row("does nothing", idle), row("gathers", meanwhile)],
      },
    ],
    checks: [
      { claim: "p50 of appends while an agent gathers, over appends to it idle", measured: middle.median, target: 1.1 },
      {
        claim: "p99 of appends while an agent gathers, over appends to it idle",
        measured: slowest.median,
        target: 1.1,
      },
    ],
    unmeasured: [
      "an append whose caller is not in the same process",
      "a session whose messages are edited while it gathers, whose commit adds up the rows once more",
    ],
  };
}

function row(what: string, ms: readonly number[]): Cell[] {
  return [what, ms.length, ...[0.5, 0.9, 0.99].map((share) => quantile(ms, share)), Math.max(...ms)];
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
