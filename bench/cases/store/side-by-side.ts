/** Time of the same operations on two versions of the SDK's sessions, over their time on ours. */
import type { Case } from "../../case.ts";
import type { Cell, Finding } from "../../report/finding.ts";
import type { ContenderName, Lab, Subject } from "../../lab/lab.ts";
import { MOST_APPENDED, MOST_AT_ONCE, WARM_UPS } from "../../objects/batch.ts";
import {
  DRAWN,
  LAST_OF_SDK,
  listTimed,
  OPERATIONS,
  SLOW_OF_020,
  type Measured,
  type Timed,
  VISIBLE,
} from "../../lab/operations.ts";
import type { Panel, Plot } from "../../report/plot.ts";
import { renderCell } from "../../report/render.ts";
import { median, ratios } from "../../report/stats.ts";
import { listContenders, prepareSubject } from "../../lab/subjects.ts";

const LARGEST = 100_000;
const SIZES = [100, 1_000, SLOW_OF_020, LAST_OF_SDK, LARGEST];
const QUICK_SIZES = [200];
const ROUNDS = 5;
const QUICK_ROUNDS = 2;
/**
 * Subjects of each store. An operation that an object can do only once is timed once in each. There are fewer of the largest, because each
 * takes a while to fill.
 */
const SUBJECTS = 5;
const SUBJECTS_OF_LARGEST = 2;
/** Length of one stretch of consecutive operations (ms), about twenty ticks of the clock. */
const STRETCH_MS = 20;
/** Stretches of each operation in one round. It is one where operations of 0.20 take long, and for operations that append. */
const STRETCHES = 3;
const LONG_OF_020 = 1_000;
/** Messages by which a path has grown when the view is timed, which is one append a round, right after an eviction, and one more. */
const BEFORE_VIEW = ROUNDS + 1;
/** Most messages by which a path has grown when the last append is timed. Appended messages stay, those of the warm-up included. */
const BEFORE_LAST = BEFORE_VIEW + WARM_UPS + MOST_APPENDED * (ROUNDS + 1);
const MICROSECONDS = 1_000;
const NAMES = { Ours: "ours", Sdk032: "0.32", Sdk020: "0.20" } as const;
/** A cell without a figure. */
const NONE = "–";

const ABOUT = [
  `The time that one operation takes in a version of the SDK over the time it takes in ours, with ${VISIBLE} messages visible of N, set up as for the rows: above 1, ours is faster.`,
  `Taken inside the object, when it has started, of so many operations in one stretch that they take some ${STRETCH_MS} ms, divided by how many they were.`,
  `Of one stretch are at most ${MOST_AT_ONCE.toLocaleString("en-US")} operations; of appends and deletions ${MOST_APPENDED}, because each makes the view longer.`,
  `What is appended stays: later views show up to ${BEFORE_VIEW} messages more, and at the last append that is timed a path is up to ${BEFORE_LAST} messages longer than N, all of them visible.`,
  `That tells at N = 100, where an append of 0.20, which reads the whole path, reads up to ${renderCell(1 + BEFORE_LAST / 100)} times N; at 1,000 it is up to ${renderCell(1 + BEFORE_LAST / 1_000)} times.`,
  `Shown is the median of ${STRETCHES} stretches (one of appends and deletions, and where operations of 0.20 are long), and of ${ROUNDS} rounds in which stores take turns in going first the median, least and most.`,
  "The first after an eviction and a cold search are one operation a round.",
  "From outside is the first view from the call to the answer, the object's start in it, as another object of the process waits for it.",
  "From the harness is the same, with the harness's own way into the process, some milliseconds that are alike for all.",
  `The first search, a fork, and an update, a deletion and a search right after others (“then”) can be done once in an object: these are ${SUBJECTS} objects, one time each (${SUBJECTS_OF_LARGEST} at ${LARGEST.toLocaleString("en-US")}).`,
  `0.20 is timed up to ${SLOW_OF_020.toLocaleString("en-US")} messages: beyond, one of its operations takes seconds.`,
  "A path of theirs ends at 10,001 messages, ours is timed beyond.",
];

export const sideBySide: Case = { name: "side-by-side", timed: true, measure };

/** Milliseconds, one number per round or subject. Empty for a store that was not asked or has no such operation. */
type Times = Readonly<Record<ContenderName, readonly number[]>>;

interface Compared {
  readonly size: number;
  readonly operation: string;
  readonly times: Times;
}

interface Side {
  readonly name: ContenderName;
  readonly subject: Subject;
  /** From the call to the answer (ms), each time after an eviction. */
  readonly openBeside: () => Promise<number>;
  readonly openFromHarness: () => Promise<number>;
}

interface Asking {
  readonly size: number;
  readonly rounds: number;
}

async function measure(lab: Lab): Promise<Finding> {
  const compared: Compared[] = [];
  for (const size of lab.quick ? QUICK_SIZES : SIZES) {
    for (const operations of OPERATIONS) compared.push(...(await compare(lab, size, operations)));
  }
  return {
    title: "Beside the SDK's own sessions",
    about: ABOUT,
    tables: [
      {
        columns: ["operation", "N", "ours, µs", "0.32 over ours", "0.20 over ours"],
        rows: OPERATIONS.flatMap(listTimed).flatMap(({ name }) =>
          compared.filter(({ operation }) => operation === name).map((each) => render(each)),
        ),
      },
    ],
    checks: [],
    plots: [draw(compared)],
    unmeasured: [
      "a commit to a disk that is far away: an operation's time ends when it returns, and what waits for its commit is its answer to the outside",
      "the loading of code when an object wakes on Cloudflare: here it is in the process already",
    ],
  };
}

/** The first subject times everything that can be repeated, in rounds. Every subject times the operations that run only once, in order. */
async function compare(lab: Lab, size: number, operations: readonly Measured[]): Promise<Compared[]> {
  const asked = listTimed(operations);
  const found = asked.map(() => ({ Ours: [] as number[], Sdk032: [] as number[], Sdk020: [] as number[] }));
  for (let at = 0; at < subjectsOf(lab, size, asked); at++) {
    const sides = await prepareSides(lab, { size, name: `side-${size}-${operations[0]?.name}-${at}` });
    for (const [index, measured] of asked.entries()) {
      const rounds = at > 0 ? 0 : lab.quick ? QUICK_ROUNDS : ROUNDS;
      const times = await time(inTurn(sides, at), measured, { size, rounds });
      for (const { name } of sides) found[index]?.[name].push(...times[name]);
    }
  }
  return asked.flatMap(({ name }, index) => {
    const times = found[index];
    return times === undefined ? [] : [{ size, operation: name, times }];
  });
}

function subjectsOf(lab: Lab, size: number, asked: readonly Timed[]): number {
  if (lab.quick || asked.every(({ once }) => once !== true)) return 1;
  return size === LARGEST ? SUBJECTS_OF_LARGEST : SUBJECTS;
}

async function prepareSides(lab: Lab, { size, name }: { size: number; name: string }): Promise<readonly Side[]> {
  const sides: Side[] = [];
  for (const contender of listContenders(size).filter((each) => each !== "Sdk020" || size <= SLOW_OF_020)) {
    const subject = await prepareSubject(lab, contender, { name, size });
    sides.push({
      name: contender,
      subject,
      openBeside: () => lab.client().timeOpen(contender, name),
      openFromHarness: async () => {
        const start = performance.now();
        await subject.open();
        return performance.now() - start;
      },
    });
  }
  return sides;
}

/** Alternates the order, so that no store is always the first. */
function inTurn(sides: readonly Side[], turn: number): readonly Side[] {
  return turn % 2 === 0 ? sides : sides.toReversed();
}

/**
 * Times a one-time operation once, whatever the rounds. Repeats a repeatable one once more untimed, because the next operations depend on
 * it.
 */
async function time(sides: readonly Side[], measured: Timed, { size, rounds }: Asking): Promise<Times> {
  const times: Record<ContenderName, number[]> = { Ours: [], Sdk032: [], Sdk020: [] };
  const once = measured.once === true;
  for (let round = 0; round < (once ? 1 : rounds); round++) {
    for (const side of inTurn(sides, round)) times[side.name].push(...(await timeOne(side, measured, size)));
  }
  if (!once) for (const { subject } of sides) await subject.count(measured.operation, 1);
  return times;
}

/** One number, or none where the store has no such operation. */
async function timeOne(side: Side, measured: Timed, size: number): Promise<readonly number[]> {
  const { operation, cold = false, once = false, waits } = measured;
  if (cold) await side.subject.evict();
  if (waits === "beside") return [await side.openBeside()];
  if (waits === "harness") return [await side.openFromHarness()];
  const few = operation === "append" || operation === "delete" || (side.name === "Sdk020" && size >= LONG_OF_020);
  const timing = cold || once ? { times: 1, stretchMs: 0 } : { times: few ? 1 : STRETCHES, stretchMs: STRETCH_MS };
  const taken = await side.subject.time(operation, timing);
  return taken.length === 0 ? [] : [median(taken)];
}

function render({ size, operation, times }: Compared): Cell[] {
  const over = (name: ContenderName): Cell => (times[name].length === 0 ? NONE : ratios(times[name], times.Ours));
  return [operation, size, median(times.Ours) * MICROSECONDS, over("Sdk032"), over("Sdk020")];
}

function draw(compared: readonly Compared[]): Plot {
  const panels = DRAWN.map((title): Panel => {
    const shown = compared.filter(({ operation }) => operation === title);
    return {
      title,
      x: { label: "messages stored", scale: "log", unit: "count" },
      y: { label: "time over ours", scale: "log", unit: "count" },
      lines: (["Ours", "Sdk032", "Sdk020"] as const).map((name) => ({
        name: NAMES[name],
        points: shown.flatMap(({ size, times }): [number, number][] =>
          times[name].length === 0 ? [] : [[size, ratios(times[name], times.Ours).median]],
        ),
      })),
    };
  });
  return {
    file: "growth-times",
    title: "Time of one operation over ours as the conversation grows, two versions of the SDK",
    panels,
  };
}
