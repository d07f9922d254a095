/** Kills the Worker with SIGKILL in the middle of a run and measures how long it takes to go on by itself, and at what cost. */
import type { Case } from "../../case.ts";
import type { Cell, Check, Finding, Table } from "../../report/finding.ts";
import {
  behindAnswer,
  FINISHED_CHUNKS,
  IN_LAST_MERGE,
  IN_NOTES,
  IN_SUMMARISER,
  recover,
  type Moment,
  type Recovery,
} from "../../kills/recovery.ts";
import type { Lab } from "../../lab/lab.ts";
import { spread } from "../../report/stats.ts";

/** Kills of each moment, for a median and its spread. */
const KILLS = 5;
/**
 * From an answer's leaving the model to the signal (ms). The delays lie close together where most answers are stored, and one lies far
 * beyond.
 */
const DELAYS = [0, 1, 1.5, 2, 5, 10];
const KILLS_OF_DELAY = 2;
const QUICK_DELAYS = [0];

/** The kills of one kind. */
interface Kills {
  readonly name: string;
  readonly kills: readonly Recovery[];
}

export const durability: Case = { name: "durability", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const moments: (readonly [string, Moment])[] = [
    ["in the summariser", IN_SUMMARISER],
    ["as the last merge is answered", IN_LAST_MERGE],
    ["in an update of notes", IN_NOTES],
  ];
  const killed: Kills[] = [];
  for (const [name, moment] of lab.quick ? moments.slice(0, 1) : moments) {
    killed.push({ name, kills: await killOften(moment, lab.quick ? 1 : KILLS) });
  }
  const behind: (Kills & { readonly delayMs: number })[] = [];
  for (const delayMs of lab.quick ? QUICK_DELAYS : DELAYS) {
    const kills = await killOften(behindAnswer(delayMs), lab.quick ? 1 : KILLS_OF_DELAY);
    behind.push({ name: String(delayMs), delayMs, kills });
  }
  const aimed = { name: "as an answer leaves the model", kills: behind.flatMap(({ kills }) => kills) };
  const all = [...killed, aimed];
  const each = all.flatMap(({ kills }) => kills);
  return {
    title: "Killed in the middle of a run",
    about: describe(each),
    tables: [timesOf(all), fatesOf(all), windowOf(behind)],
    checks: checksOf(each),
    unmeasured: [
      "how many answers a kill at any moment finds on their way: it depends on how long the way is, and between Cloudflare and a provider it is longer than on one machine",
      "the same way of an update of notes and of a merge, which store their answers by the same code",
      "what a provider charges for calls that were under way at a kill: they are asked again, and it may bill both",
      "Cloudflare's own engine, which wakes an instance by itself and need not wait for the watchdog",
      "a machine that loses power: what SIGKILL leaves in the file system's cache is still written",
    ],
  };
}

function describe(kills: readonly Recovery[]): readonly string[] {
  const [repeated, calls] = [sum(kills, (kill) => kill.repeated), sum(kills, (kill) => kill.calls)];
  return [
    "Every process of the deployable Worker is killed with SIGKILL, started again on the same storage and left alone: nobody calls the agent until its run has ended.",
    "Shown are milliseconds from the start of the new process until it serves, until the run was heard of again, and until its outcome stands.",
    "The watchdog looks every 2 s here; at its default of 15 s a run may go on up to 13 s later.",
    `A run that nobody kills asks everything once: what was asked beyond that is ${repeated} calls, of ${calls} in ${kills.length} kills.`,
    `The summariser answers at once; ${FINISHED_CHUNKS} of 8 chunks were done when it was killed in it.`,
    "An answer has left when the model's server has handed it to the system; it is stored when its draft stands in the agent's database file.",
    "A step's result is kept by the engine only after that, and is not needed: a step that is run again finds the draft.",
    "Damaged is a message that is lost or altered, or one more than was said.",
  ];
}

async function killOften(moment: Moment, times: number): Promise<Recovery[]> {
  const kills: Recovery[] = [];
  for (let n = 0; n < times; n++) kills.push(await recover(moment));
  return kills;
}

function sum(kills: readonly Recovery[], of: (kill: Recovery) => number): number {
  return kills.reduce((total, kill) => total + of(kill), 0);
}

function timesOf(all: readonly Kills[]): Table {
  return {
    columns: ["killed", "kills", "serves ms", "resumed ms", "ended ms", "messages damaged"],
    rows: all.map(({ name, kills }) => [
      name,
      kills.length,
      spread(kills.map(({ up }) => up)),
      spread(kills.map(({ resumed }) => resumed)),
      spread(kills.map(({ ended }) => ended)),
      sum(kills, ({ damaged }) => damaged),
    ]),
  };
}

function fatesOf(all: readonly Kills[]): Table {
  return {
    caption: "Model calls by what had become of them when the Worker died, and those of them that were asked again",
    columns: [
      "killed",
      "model calls in all",
      "not answered",
      "asked again",
      "answered, not stored",
      "asked again",
      "stored",
      "asked again",
    ],
    rows: all.map(({ name, kills }) => [name, sum(kills, ({ calls }) => calls), ...fateCells(kills)]),
  };
}

function fateCells(kills: readonly Recovery[]): number[] {
  return (["unanswered", "unstored", "stored"] as const).flatMap((fate) => [
    sum(kills, ({ fates }) => fates[fate].calls),
    sum(kills, ({ fates }) => fates[fate].again),
  ]);
}

/** Where the way from the model into the ledger ends. Counts the one answer that was aimed at, because no other was on its way. */
function windowOf(behind: readonly (Kills & { readonly delayMs: number })[]): Table {
  return {
    caption: "Killed as an answer leaves the model: how long after, and what became of that answer",
    columns: [
      "aimed at ms after",
      "kills",
      "signal sent ms after",
      "not stored",
      "asked again",
      "stored",
      "asked again",
    ],
    rows: behind.map(({ delayMs, kills }): Cell[] => [
      delayMs,
      kills.length,
      spread(kills.map(({ sentAfter }) => sentAfter ?? Number.NaN)),
      sum(kills, ({ fates }) => fates.unstored.calls),
      sum(kills, ({ fates }) => fates.unstored.again),
      // Without the chunks whose steps had ended before the kill.
      sum(kills, ({ fates }) => fates.stored.calls - FINISHED_CHUNKS),
      sum(kills, ({ fates }) => fates.stored.again),
    ]),
  };
}

function checksOf(kills: readonly Recovery[]): Check[] {
  const exact = true;
  return [
    {
      claim: "runs that did not end in success by themselves",
      measured: sum(kills, ({ succeeded }) => (succeeded ? 0 : 1)),
      target: 0,
      exact,
    },
    {
      claim: "answers that were stored and asked for again",
      measured: sum(kills, ({ fates }) => fates.stored.again),
      target: 0,
      exact,
    },
    {
      claim: "calls made again, beyond those whose answer was not stored when it died",
      measured: sum(kills, ({ repeated, fates: { unanswered, unstored } }) =>
        Math.max(0, repeated - unanswered.calls - unstored.calls),
      ),
      target: 0,
      exact,
    },
    {
      claim: "messages lost, altered or stored twice",
      measured: sum(kills, ({ damaged }) => damaged),
      target: 0,
      exact,
    },
  ];
}
