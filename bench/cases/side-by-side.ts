/** The same operations on ours and on two versions of the SDK's sessions: rows, and time as a ratio. */
import type { Cell, Finding } from "../case.ts";
import { CONTENDERS, type ContenderName, type Lab, type Subject } from "../lab.ts";
import type { Rows } from "../objects/meter.ts";
import { OPERATIONS, type Operation } from "../objects/rig.ts";
import { median, ratios } from "../stats.ts";

/** A path of theirs ends at 10,001 messages, and 0.20 reads millions of rows for each append there. */
const SIZES = [1_000, 9_000];
const QUICK_SIZES = [200];
const ROUNDS = 5;
/** At sizes where one operation of 0.20 takes seconds. */
const SLOW_ROUNDS = 3;
/** Of each operation, in one round. */
const TIMES = 30;
/** For 0.20, at sizes where one append takes a good part of a second. */
const SLOW_SIZE = 5_000;

/** An operation, or the first one after an eviction. */
interface Measured {
  readonly operation: Operation;
  readonly cold: boolean;
}

const MEASURED: readonly Measured[] = [
  { operation: "view", cold: true },
  { operation: "append", cold: true },
  ...OPERATIONS.map((operation) => ({ operation, cold: false })),
];

type PerContender<T> = Record<ContenderName, T>;

export async function compareStores(lab: Lab): Promise<Finding> {
  const rows: Cell[][] = [];
  for (const size of lab.quick ? QUICK_SIZES : SIZES) {
    const subjects = await prepare(lab, size);
    const counts: PerContender<Rows>[] = [];
    for (const measured of MEASURED) counts.push(await perContender((name) => count(subjects[name], measured)));
    for (const [index, measured] of MEASURED.entries()) {
      const times = await time(subjects, measured, {
        size,
        rounds: lab.quick ? 2 : size > SLOW_SIZE ? SLOW_ROUNDS : ROUNDS,
      });
      rows.push([
        size,
        measured.cold ? `first ${measured.operation}` : measured.operation,
        ...CONTENDERS.flatMap((name) => [counts[index]?.[name].read ?? 0, counts[index]?.[name].written ?? 0]),
        ratios(times.Sdk032, times.Ours),
        ratios(times.Sdk020, times.Ours),
      ]);
    }
  }
  return {
    title: "Beside the SDK's own sessions",
    about:
      "Ours, `agents/sessions` of the SDK that ours runs on, and `experimental/memory/session` of agents 0.20, each inside an Agent of its version, with 14 messages visible of N and set to compact beyond a threshold that is not reached. Rows read and written by one operation (median of three; once for the first after an eviction), and its time over ours (median, least and most of the rounds).",
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
    checks: [],
  };
}

async function prepare(lab: Lab, size: number): Promise<PerContender<Subject>> {
  return perContender(async (name) => {
    const subject = lab.subject(name, `side-${size}`);
    const visible = await subject.prepare(size);
    if (visible !== 14) throw new Error(`${name} shows ${visible} messages instead of 14.`);
    return subject;
  });
}

async function count(subject: Subject, { operation, cold }: Measured): Promise<Rows> {
  if (cold) await subject.evict();
  const rows = await subject.count(operation, cold ? 1 : 3);
  return { read: median(rows.map((each) => each.read)), written: median(rows.map((each) => each.written)) };
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
