/** How long appends wait for a slow summariser, store by store. */
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import { CONTENDERS, type ContenderName, type Lab } from "../../lab/lab.ts";
import type { Behind } from "../../objects/rig.ts";
import { median, quantile } from "../../report/stats.ts";

const DELAY_MS = 5_000;
const THRESHOLD_TOKENS = 18_000;
/** Messages, a little under the threshold, so that one of the first appends crosses it. */
const STORED = 180;
/** From the start of one append to the start of the next (ms), so that appends fall into all of a run, its commit included. */
const EVERY_MS = 10;
/** Appends after the compaction has ended. Its commit and its remaining work would slow these. */
const AFTER = 50;
const QUICK = { delayMs: 500, after: 20 };
const WORST_CLAIM = "the single worst append of either version of the SDK over the single worst of ours";

interface Found extends Behind {
  readonly name: ContenderName;
}

export const behindSummariser: Case = { name: "behind-summariser", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const { delayMs, after } = lab.quick ? QUICK : { delayMs: DELAY_MS, after: AFTER };
  await warmUp(lab);
  const found: Found[] = [];
  for (const name of CONTENDERS) {
    const subject = lab.subject(name, `behind-${name}?delay=${delayMs}`);
    await subject.fill(STORED);
    const appending = { thresholdTokens: THRESHOLD_TOKENS, times: after, pastEnd: true, everyMs: EVERY_MS };
    found.push({ name, ...(await subject.appendBehind(appending)) });
  }
  const called = found.map(({ ms }) => Math.max(...ms));
  const due = found.map(({ dueMs }) => Math.max(...dueMs));
  const target = lab.quick ? 0 : 1_000;
  return {
    title: "Appends that set off a compaction",
    about: [
      `To ${STORED} messages one is appended every ${EVERY_MS} ms (unless the one before has not returned), until the compaction that one of the first sets off has ended, commit included, and then ${after} more: ${found.map(({ name, ms }) => `${ms.length} of ${name}`).join(", ")}. The summariser takes ${delayMs / 1_000} s.`,
      "Theirs is awaited inside the append that sets it off, so that with the SDK exactly that one waits, and no other comes meanwhile: its worst tells of it, its p50 does not, and its p99 only because it is one of so few.",
      "Ours goes on taking messages in that time, and may compact again because of them: its later model calls are counted too.",
      "The first table counts from when an append was called, the second from when it was due. An append that was due while none could begin counts there as done with the next one that was made: so there are more of them.",
      "From when they were due, ours is slower than from when they were called, because the caller's own timer is late: caller, agent, workflow engine and summariser share one thread here, and while the workflow computes, nobody is called. Longest is its gathering of names in what it summarises, some tens of milliseconds the first time.",
    ],
    tables: [
      {
        caption: "from when each was called",
        columns: ["store", "model calls", "p50 ms", "p99 ms", "worst ms", "worst over ours"],
        rows: found.map(({ name, calls, ms }, at) => [
          name,
          calls,
          median(ms),
          quantile(ms, 0.99),
          ...besideOurs(called, at),
        ]),
      },
      {
        caption: "from when each was due",
        columns: ["store", "due", "p99 ms", "worst ms", "worst over ours", "at most late by ms"],
        rows: found.map(({ name, dueMs, latestMs }, at) => [
          name,
          dueMs.length,
          quantile(dueMs, 0.99),
          ...besideOurs(due, at),
          latestMs,
        ]),
      },
    ],
    checks: [
      // The single worst append of each store, because a user sees that one hang.
      { claim: WORST_CLAIM, measured: leastOverOurs(called), target, better: "more" },
      {
        claim: `the same, counted from when each was due: ${WORST_CLAIM}`,
        measured: leastOverOurs(due),
        target,
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

/** The process's first workflow loads the engine, which is no matter of any store. */
async function warmUp(lab: Lab): Promise<void> {
  const subject = lab.subject("Ours", "behind-warm");
  await subject.fill(STORED);
  await subject.countRun();
}

/** The worst append and its ratio to ours. The contenders are in order and ours is the first. */
function besideOurs(worst: readonly number[], at: number): number[] {
  const [ours = Number.NaN] = worst;
  const own = worst[at] ?? Number.NaN;
  return [own, own / ours];
}

function leastOverOurs(worst: readonly number[]): number {
  const [ours = Number.NaN, ...theirs] = worst;
  return Math.min(...theirs) / ours;
}
