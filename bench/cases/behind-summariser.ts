/** Who waits for the summariser. */
import type { Case, Cell, Finding } from "../case.ts";
import { CONTENDERS, type Lab } from "../lab.ts";
import { median } from "../stats.ts";

const DELAY_MS = 5_000;
/** Over the threshold, so that the first append begins a compaction. */
const STORED = 40;
const APPENDS = 10;

export const behindSummariser: Case = { name: "behind-summariser", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const slowest: number[] = [];
  const rows: Cell[][] = [];
  for (const name of CONTENDERS) {
    const subject = lab.subject(name, `behind?delay=${DELAY_MS}`);
    await subject.fill(STORED);
    const { ms, begun } = await subject.appendWhileSummarising(DELAY_MS, APPENDS);
    slowest.push(Math.max(...ms));
    rows.push([name, begun, median(ms), Math.max(...ms), Math.max(...ms) / (slowest[0] ?? Number.NaN)]);
  }
  return {
    title: "The append that begins a compaction",
    about: `${APPENDS} appends one after another; the first crosses the threshold, and the summariser takes ${DELAY_MS / 1_000} s. Theirs is awaited inside the append.`,
    tables: [{ columns: ["store", "compactions begun", "median ms", "slowest ms", "slowest over ours"], rows }],
    checks: [],
  };
}
