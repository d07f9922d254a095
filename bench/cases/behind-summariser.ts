/** Who waits for the summariser. */
import type { Case } from "../case.ts";
import type { Cell, Finding } from "../finding.ts";
import { CONTENDERS, type Lab } from "../lab.ts";
import { median, quantile } from "../stats.ts";

const DELAY_MS = 5_000;
const THRESHOLD_TOKENS = 18_000;
/** Messages: a little under the threshold, so that one of the first appends crosses it. */
const STORED = 180;
/** From the beginning of one append to that of the next (ms): so that they fall into all of a run, its commit too. */
const EVERY_MS = 10;
/** Appends once the compaction has ended: its commit, and what it leaves to do, would slow these. */
const AFTER = 50;
const QUICK = { delayMs: 500, after: 20 };

export const behindSummariser: Case = { name: "behind-summariser", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const { delayMs, after } = lab.quick ? QUICK : { delayMs: DELAY_MS, after: AFTER };
  const worst: number[] = [];
  const late: Cell[][] = [];
  const appends: string[] = [];
  const rows: Cell[][] = [];
  for (const name of CONTENDERS) {
    const subject = lab.subject(name, `behind-${name}?delay=${delayMs}`);
    await subject.fill(STORED);
    const { ms, calls, latestMs } = await subject.appendBehind({
      thresholdTokens: THRESHOLD_TOKENS,
      times: after,
      pastEnd: true,
      everyMs: EVERY_MS,
    });
    worst.push(Math.max(...ms));
    late.push([name, ms.length, latestMs]);
    appends.push(`${ms.length} of ${name}`);
    rows.push([
      name,
      calls,
      median(ms),
      quantile(ms, 0.99),
      Math.max(...ms),
      Math.max(...ms) / (worst[0] ?? Number.NaN),
    ]);
  }
  const [ours = Number.NaN, ...theirs] = worst;
  return {
    title: "Appends that set off a compaction",
    about: `To ${STORED} messages one is appended every ${EVERY_MS} ms (unless the one before has not returned), until the compaction that one of the first sets off has ended, commit included, and then ${after} more: ${appends.join(", ")}. The summariser takes ${delayMs / 1_000} s. Theirs is awaited inside the append that sets it off, so that with the SDK exactly that one waits, and no other comes meanwhile: its worst tells of it, its p50 does not, and its p99 only because it is one of so few. Ours goes on taking messages in that time, and may compact again because of them: its later model calls are counted too. The second table tells how late an append began because something else held the process, which is the object, the workflow engine and the summariser in one: that time is not in the first table.`,
    tables: [
      { columns: ["store", "model calls", "p50 ms", "p99 ms", "worst ms", "worst over ours"], rows },
      { caption: "begun late", columns: ["store", "appends", "at most late by ms"], rows: late },
    ],
    checks: [
      {
        // A single worst append of each: it is the one that a user sees hang, and the SDK has no more of them.
        claim: "the single worst append of either version of the SDK over the single worst of ours",
        measured: Math.min(...theirs) / ours,
        target: lab.quick ? 0 : 1_000,
        better: "more",
      },
    ],
    unmeasured: [
      "an object that shares no process with its workflow",
      "appends from outside the object, with a network between",
      "a conversation that goes on with the SDK while its append waits: its messages come after it",
    ],
  };
}
