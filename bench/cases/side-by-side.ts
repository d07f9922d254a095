/** The same operations on ours and on two versions of the SDK's sessions: rows, and time as a ratio. */
import type { Case, Cell, Finding } from "../case.ts";
import { CONTENDERS, type ContenderName, type Lab, type Subject } from "../lab.ts";
import type { Operation } from "../objects/rig.ts";
import { median, ratios } from "../stats.ts";

/** A path of theirs ends at 10,001 messages, and 0.20 reads millions of rows for each append there. */
const SIZES = [100, 1_000, 9_000];
const QUICK_SIZES = [200];
const ROUNDS = 5;
/** At sizes where one operation of 0.20 takes seconds. */
const SLOW_ROUNDS = 3;
/** Of each operation, in one round. */
const TIMES = 30;
/** For 0.20, at sizes where one append takes a good part of a second. */
const SLOW_SIZE = 5_000;

interface Measured {
  readonly name: string;
  readonly operation: Operation;
  /** After an eviction. */
  readonly cold?: boolean;
  /** Counted once and never timed: what cannot be done again, or tells nothing new. */
  readonly once?: boolean;
}

/** Appending comes last: it makes the view longer. */
const BEFORE_SEARCH: readonly Measured[] = [
  { name: "first view", operation: "view", cold: true },
  { name: "first append", operation: "append", cold: true },
  { name: "view", operation: "view" },
  { name: "branches", operation: "branches" },
  { name: "update", operation: "update" },
  { name: "delete", operation: "delete" },
  { name: "append", operation: "append" },
];

/** The first search makes an index that must be kept up from then on: on objects of their own. */
const FROM_SEARCH: readonly Measured[] = [
  { name: "first search", operation: "search", once: true },
  { name: "search", operation: "search" },
  { name: "update, then", operation: "update", once: true },
  { name: "delete, then", operation: "delete", once: true },
  { name: "append, then", operation: "append" },
  { name: "fork", operation: "fork", once: true },
];

/** In a cell for which there is nothing to tell. */
const NONE = "–";

type PerContender<T> = Record<ContenderName, T>;

export const sideBySide: Case = { name: "side-by-side", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const rows: Cell[][] = [];
  for (const size of lab.quick ? QUICK_SIZES : SIZES) {
    rows.push(...(await compare(lab, size, BEFORE_SEARCH)), ...(await compare(lab, size, FROM_SEARCH)));
  }
  return {
    title: "Beside the SDK's own sessions",
    about:
      "Ours, `agents/sessions` of the SDK that ours runs on, and `experimental/memory/session` of agents 0.20, each inside an Agent of its version, with 14 messages visible of N and set to compact beyond a threshold that is not reached. Rows read and written by one operation (median of three, or once: for the first view and append after an eviction, the first search, which makes the index in ours and in 0.32, the update and delete after it, and a fork), and its time over ours (median, least and most of the rounds). A search finds one message. Ours forks every message of the path; 0.20 forks the view, so that what a summary hides is lost to the fork; 0.32 has no fork.",
    tables: [
      {
        columns: [
          "N",
          "operation",
          "ours read",
          "written",
          "0.32 read",
          "written",
          "0.20 read",
          "written",
          "0.32 time",
          "0.20 time",
        ],
        rows,
      },
    ],
    checks: [],
  };
}

/** A row for each, on fresh objects: all are counted before any is timed, which repeats it. */
async function compare(lab: Lab, size: number, all: readonly Measured[]): Promise<Cell[][]> {
  const subjects = await prepare(lab, `side-${size}-${all[0]?.operation}`, size);
  const rounds = lab.quick ? 2 : size > SLOW_SIZE ? SLOW_ROUNDS : ROUNDS;
  const rows: Cell[][] = [];
  for (const measured of all) {
    const counted = await perContender((name) => count(subjects[name], measured));
    rows.push([size, measured.name, ...CONTENDERS.flatMap((name) => counted[name])]);
  }
  for (const [index, measured] of all.entries()) {
    const times = measured.once ? null : await time(subjects, measured, { size, rounds });
    rows[index]?.push(
      times === null ? NONE : ratios(times.Sdk032, times.Ours),
      times === null ? NONE : ratios(times.Sdk020, times.Ours),
    );
  }
  return rows;
}

async function prepare(lab: Lab, object: string, size: number): Promise<PerContender<Subject>> {
  return perContender(async (name) => {
    const subject = lab.subject(name, object);
    const visible = await subject.prepare(size);
    if (visible !== 14) throw new Error(`${name} shows ${visible} messages instead of 14.`);
    return subject;
  });
}

/** Rows read and written; of an operation that the store does not have, nothing. */
async function count(subject: Subject, { operation, cold, once }: Measured): Promise<[read: Cell, written: Cell]> {
  if (cold) await subject.evict();
  const rows = await subject.count(operation, cold || once ? 1 : 3);
  if (rows.length === 0) return [NONE, NONE];
  return [median(rows.map(({ read }) => read)), median(rows.map(({ written }) => written))];
}

/** One number a round and contender, who take turns in going first. */
async function time(
  subjects: PerContender<Subject>,
  { operation, cold }: Measured,
  options: { readonly size: number; readonly rounds: number },
): Promise<PerContender<number[]>> {
  const times: PerContender<number[]> = { Ours: [], Sdk032: [], Sdk020: [] };
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? CONTENDERS : CONTENDERS.toReversed();
    for (const name of order) {
      if (cold) await subjects[name].evict();
      const slow = name === "Sdk020" && options.size > SLOW_SIZE;
      times[name].push(median(await subjects[name].time(operation, cold || slow ? 1 : TIMES)));
    }
  }
  return times;
}

async function perContender<T>(make: (name: ContenderName) => Promise<T>): Promise<PerContender<T>> {
  const made: Partial<PerContender<T>> = {};
  for (const name of CONTENDERS) made[name] = await make(name);
  return made as PerContender<T>;
}
