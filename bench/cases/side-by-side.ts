/** How long the same operations take on two versions of the SDK's sessions, over the time they take on ours. */
import type { Case } from "../case.ts";
import type { Cell, Finding } from "../finding.ts";
import type { ContenderName, Lab, Subject } from "../lab.ts";
import { DRAWN, LAST_OF_SDK, OPERATIONS, prepareSubject, SLOW_OF_020, type Measured } from "../operations.ts";
import type { Panel, Plot } from "../plot.ts";
import { median, ratios } from "../stats.ts";

const SIZES = [100, 1_000, SLOW_OF_020, LAST_OF_SDK];
const QUICK_SIZES = [200];
const ROUNDS = 5;
const QUICK_ROUNDS = 2;
/** Of each operation, in one round. */
const TIMES = 30;
const NAMES = { Ours: "ours", Sdk032: "0.32", Sdk020: "0.20" } as const;
/** In a cell for which there is nothing to tell. */
const NONE = "–";

export const sideBySide: Case = { name: "side-by-side", timed: true, measure };

interface Compared {
  readonly size: number;
  readonly operation: string;
  /** Milliseconds, one number a round; none for who was not asked. */
  readonly times: Readonly<Record<ContenderName, readonly number[]>>;
}

async function measure(lab: Lab): Promise<Finding> {
  const compared: Compared[] = [];
  for (const size of lab.quick ? QUICK_SIZES : SIZES) {
    for (const operations of OPERATIONS) compared.push(...(await compare(lab, size, operations)));
  }
  return {
    title: "Beside the SDK's own sessions",
    about: `The time that one operation takes in a version of the SDK over the time it takes in ours, with 14 messages visible of N, set up as for the rows: above 1, ours is faster. Median of ${TIMES} (of 0.20 fewer, the more is stored; one, where the first after an eviction is meant: taken inside the object, when it has started), and of them the median, least and most of ${ROUNDS} rounds in which stores take turns in going first. 0.20 up to ${SLOW_OF_020.toLocaleString("en-US")} messages: beyond, one of its operations takes seconds.`,
    tables: [
      {
        columns: ["operation", "N", "ours, ms", "0.32 over ours", "0.20 over ours"],
        rows: OPERATIONS.flat().flatMap(({ name }) =>
          compared.filter(({ operation }) => operation === name).map((each) => render(each)),
        ),
      },
    ],
    checks: [],
    plots: [draw(compared)],
  };
}

/** What can be repeated is timed; what cannot is done once, because the first search makes the index for what comes after. */
async function compare(lab: Lab, size: number, operations: readonly Measured[]): Promise<Compared[]> {
  const names = (["Ours", "Sdk032", "Sdk020"] as const).filter((name) => name !== "Sdk020" || size <= SLOW_OF_020);
  const subjects: [ContenderName, Subject][] = [];
  for (const name of names) {
    subjects.push([name, await prepareSubject(lab, name, { name: `side-${size}-${operations[0]?.name}`, size })]);
  }
  const rounds = lab.quick ? QUICK_ROUNDS : ROUNDS;
  const compared: Compared[] = [];
  for (const measured of operations.filter(({ operation }) => operation !== "fork")) {
    if (measured.once === true) for (const [, subject] of subjects) await subject.count(measured.operation, 1);
    else compared.push({ size, operation: measured.name, times: await time(subjects, measured, { size, rounds }) });
  }
  return compared;
}

async function time(
  subjects: readonly [ContenderName, Subject][],
  { operation, cold }: Measured,
  { size, rounds }: { readonly size: number; readonly rounds: number },
): Promise<Compared["times"]> {
  const times: Record<ContenderName, number[]> = { Ours: [], Sdk032: [], Sdk020: [] };
  for (let round = 0; round < rounds; round++) {
    for (const [name, subject] of round % 2 === 0 ? subjects : subjects.toReversed()) {
      if (cold === true) await subject.evict();
      times[name].push(median(await subject.time(operation, cold === true ? 1 : timesOf(name, size))));
    }
  }
  return times;
}

/** The larger a conversation, the longer one operation of 0.20 takes, and the less of it is noise. */
function timesOf(name: ContenderName, size: number): number {
  return name === "Sdk020" ? Math.min(TIMES, Math.ceil(SLOW_OF_020 / size)) : TIMES;
}

function render({ size, operation, times }: Compared): Cell[] {
  const over = (name: ContenderName): Cell => (times[name].length === 0 ? NONE : ratios(times[name], times.Ours));
  return [operation, size, median(times.Ours), over("Sdk032"), over("Sdk020")];
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
