/** The Worker killed with SIGKILL in the middle of a run: how long until it goes on by itself, and what it cost. */
import { PARALLEL_CHUNKS } from "../../src/limits.ts";
import { SMALL, Stage } from "../../test/kill/stage.ts";
import type { Case } from "../case.ts";
import type { Cell, Finding } from "../finding.ts";
import type { Lab } from "../lab.ts";
import { spread } from "../stats.ts";

/** Of each moment: a middle one and what lies around it. */
const KILLS = 3;
/** A commit may outrun the signal: then nothing was shown, and the Worker is killed once more. */
const TRIES = 4;
const FINISHED_CHUNKS = 2;

interface Moment {
  readonly name: string;
  readonly vars: Readonly<Record<string, string>>;
  /** Talks until a run is at that moment, and kills. */
  readonly die: (stage: Stage) => Promise<void>;
}

/** An update reads all that is new at once. */
const NOTED = { PALIMPSEST_MODEL_WINDOW: "32000", PALIMPSEST_NOTES: "1" };

const MOMENTS: readonly Moment[] = [
  { name: "in the summariser", vars: SMALL, die: dieSummarising },
  { name: "between last draft and commit", vars: SMALL, die: dieBeforeCommit },
  { name: "in an update of notes", vars: NOTED, die: dieNoting },
];

/** Of one kill. Times in ms from the start of the new process. */
interface Recovery {
  readonly up: number;
  readonly resumed: number;
  readonly ended: number;
  readonly calls: number;
  readonly unanswered: number;
  readonly repeated: number;
  readonly paidTwice: number;
  readonly lost: number;
  readonly succeeded: boolean;
}

export const durability: Case = { name: "durability", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const rows: Cell[][] = [];
  const all: Recovery[] = [];
  for (const moment of lab.quick ? MOMENTS.slice(0, 1) : MOMENTS) {
    const kills: Recovery[] = [];
    for (let n = 0; n < (lab.quick ? 1 : KILLS); n++) kills.push(await recover(moment));
    all.push(...kills);
    const sum = (of: (kill: Recovery) => number): number => kills.reduce((total, kill) => total + of(kill), 0);
    rows.push([
      moment.name,
      kills.length,
      ...[({ up }: Recovery) => up, ({ resumed }: Recovery) => resumed, ({ ended }: Recovery) => ended].map((of) =>
        spread(kills.map(of)),
      ),
      sum((kill) => kill.calls),
      sum((kill) => kill.unanswered),
      sum((kill) => kill.repeated),
      sum((kill) => kill.paidTwice),
      sum((kill) => kill.lost),
    ]);
  }
  const total = (of: (kill: Recovery) => number): number => all.reduce((sum, kill) => sum + of(kill), 0);
  return {
    title: "Killed in the middle of a run",
    about: `The deployable Worker, every process of it killed with SIGKILL, started again on the same storage and left alone: nobody calls the agent until its run has ended. Milliseconds from the start of the new process until it serves, until the run was heard of again, and until its outcome stands. The watchdog looks every 2 s here; at its default of 15 s a run may go on up to 13 s later. A run that nobody kills asks everything once: what was asked beyond that is ${total(({ repeated }) => repeated)} calls, of ${total(({ calls }) => calls)} in ${all.length} kills. The summariser answers at once, ${FINISHED_CHUNKS} of 8 chunks were done when it was killed in it.`,
    tables: [
      {
        columns: [
          "killed",
          "kills",
          "serves ms",
          "resumed ms",
          "ended ms",
          "model calls",
          "unanswered at the kill",
          "asked beyond an undisturbed run",
          "answered and asked again",
          "messages lost",
        ],
        rows,
      },
    ],
    checks: [
      {
        claim: "runs that did not end in success by themselves",
        measured: total((kill) => (kill.succeeded ? 0 : 1)),
        target: 0,
      },
      { claim: "answers that were paid for twice", measured: total((kill) => kill.paidTwice), target: 0 },
      {
        claim: "calls made again, beyond those that had no answer when it died",
        measured: total(({ repeated, unanswered }) => Math.max(0, repeated - unanswered)),
        target: 0,
      },
      { claim: "messages lost or altered", measured: total((kill) => kill.lost), target: 0 },
    ],
    unmeasured: [
      "a call that was answered while its answer was not stored yet when the process died: it is asked again, and no kill here was aimed at that moment",
      "what a provider charges for calls that were under way at a kill: they are asked again, and it may bill both",
      "Cloudflare's own engine, which wakes an instance by itself and need not wait for the watchdog",
      "a machine that loses power: what SIGKILL leaves in the file system's cache is still written",
    ],
  };
}

async function recover({ name, vars, die }: Moment): Promise<Recovery> {
  for (let tries = 0; tries < TRIES; tries++) {
    await using stage = await Stage.open(vars);
    await die(stage);
    if ((await stage.ledger()).runs.some(({ outcome }) => outcome === null)) return await watch(stage);
  }
  throw new Error(`The run had always ended before the Worker was dead: ${name}.`);
}

async function watch(stage: Stage): Promise<Recovery> {
  const unanswered = stage.model.unanswered.length;
  stage.model.answers = () => true;
  const from = Date.now();
  let resumedAt = 0;
  const [up] = await Promise.all([
    stage.restart().then(() => Date.now()),
    stage.until(({ runs }) => {
      resumedAt = Math.max(...runs.map(({ heardAt }) => heardAt ?? 0));
      return resumedAt > from;
    }),
  ]);
  const { runs } = await stage.untilEnded();
  const { stored } = await stage.look();
  const { asked, timesAsked, askedAgain } = stage.model;
  return {
    up: up - from,
    resumed: resumedAt - from,
    ended: Math.max(...runs.map(({ endedAt }) => endedAt ?? Infinity)) - from,
    calls: asked.length,
    unanswered,
    repeated: asked.length - timesAsked.size,
    paidTwice: askedAgain.length,
    lost: stage.said.filter((message, n) => JSON.stringify(message) !== JSON.stringify(stored[n])).length,
    succeeded: runs.every(
      ({ outcome }) => outcome?.kind === "noted" || (outcome?.kind === "applied" && !outcome.degraded),
    ),
  };
}

async function dieSummarising(stage: Stage): Promise<void> {
  await stage.approach();
  stage.model.answers = () => stage.model.asked.length <= FINISHED_CHUNKS;
  await Promise.all([stage.untilAsked(FINISHED_CHUNKS + PARALLEL_CHUNKS), stage.say()]);
  await stage.kill();
}

async function dieBeforeCommit(stage: Stage): Promise<void> {
  await stage.approach();
  const killed = stage.killAt(({ step }) => step === "audit");
  await stage.say();
  await killed;
}

async function dieNoting(stage: Stage): Promise<void> {
  stage.model.answers = () => false;
  while (stage.model.asked.length === 0) await stage.say();
  await stage.kill();
}
