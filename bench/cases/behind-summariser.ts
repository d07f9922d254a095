/** Who waits for the summariser. */
import type { Case } from "../case.ts";
import type { Cell, Finding } from "../finding.ts";
import { CONTENDERS, type Lab } from "../lab.ts";
import { median, quantile } from "../stats.ts";

const DELAY_MS = 5_000;
const THRESHOLD_TOKENS = 18_000;
/** Messages: a little under the threshold, so that one of the first appends crosses it. */
const STORED = 180;
const APPENDS = 100;
const QUICK = { delayMs: 500, appends: 20 };

export const behindSummariser: Case = { name: "behind-summariser", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const { delayMs, appends } = lab.quick ? QUICK : { delayMs: DELAY_MS, appends: APPENDS };
  const worst: number[] = [];
  const rows: Cell[][] = [];
  for (const name of CONTENDERS) {
    const subject = lab.subject(name, `behind-${name}?delay=${delayMs}`);
    await subject.fill(STORED);
    const { ms, calls } = await subject.appendBehind({
      thresholdTokens: THRESHOLD_TOKENS,
      times: appends,
      everyMs: 0,
    });
    if (calls === 0) throw new Error(`${name} asked no summariser.`);
    worst.push(Math.max(...ms));
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
    about: `${appends} appends one after another to ${STORED} messages; one of the first crosses the threshold, and the summariser takes ${delayMs / 1_000} s. Theirs is awaited inside the append that sets it off.`,
    tables: [{ columns: ["store", "model calls", "p50 ms", "p99 ms", "worst ms", "worst over ours"], rows }],
    checks: [
      {
        claim: "the worst append of either version of the SDK over the worst of ours",
        measured: Math.min(...theirs) / ours,
        target: lab.quick ? 0 : 1_000,
        better: "more",
      },
    ],
  };
}
