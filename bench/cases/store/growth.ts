/** Rows that each operation reads and writes as the stored conversation grows and its visible part does not, store by store. */
import type { Case } from "../../case.ts";
import type { Cell, Check, Finding } from "../../report/finding.ts";
import { CONTENDERS, type ContenderName, type Lab, type Subject } from "../../lab/lab.ts";
import type { Rows } from "../../objects/meter.ts";
import { DRAWN, LAST_OF_SDK, OPERATIONS, SLOW_OF_020, VISIBLE, type Measured } from "../../lab/operations.ts";
import type { Panel, Plot } from "../../report/plot.ts";
import { tellSmall } from "../../report/render.ts";
import { ratio, typicalRows } from "../../report/stats.ts";
import { listContenders, prepareSubject } from "../../lab/subjects.ts";

const SIZES = [100, 1_000, SLOW_OF_020, LAST_OF_SDK, 100_000];
const QUICK_SIZES = [100, 300];
const TIMES = 3;
/**
 * Appends to our store. They cover two stretches of the index of ids (64 each), and each stretch writes one more row. The mean shows that
 * row and a median would not.
 */
const APPENDS = 128;
/** A cell without a figure. */
const NONE = "–";

const ABOUT = [
  `Rows read and written by one operation, with ${VISIBLE} messages visible (3, a summary, 10) of N stored.`,
  "The stores are ours, `agents/sessions` of the SDK that ours runs on, and `experimental/memory/session` of agents 0.20, each inside an Agent of its version.",
  "Each is set to compact beyond a threshold that is not reached.",
  "Of rows read it is the median of a few operations, of rows written their mean: every 64th append of ours writes one more row, for the index of ids.",
  "First view, first append and a cold search are one each, right after an eviction.",
  "Beside them stands the start of the object, which is read before any of them: its constructor, its tables, the SDK's own state.",
  "An Agent of 0.20 that is called by its binding does most of its start only when a request or a connection comes: its start is less than a user's.",
  "The first search makes the index in ours and in 0.32; what is appended to ours is indexed by the next search (“search, then”), not by the append.",
  "Updated and deleted is the newest message; a search finds one.",
  "Ours forks every message of the path; 0.20 forks the view, so that what a summary hides is lost to the fork; 0.32 has no fork.",
  "A path of theirs ends at 10,001 messages.",
  "In the last two columns are rows read over those that ours reads.",
];

export const growth: Case = { name: "growth", timed: false, measure };

interface Counted {
  readonly size: number;
  readonly measured: Measured;
  /** See {@link typicalRows}. Undefined for an operation that a store lacks or was not asked for. */
  readonly rows: Partial<Record<ContenderName, Rows>>;
}

async function measure(lab: Lab): Promise<Finding> {
  const counted: Counted[] = [];
  for (const size of lab.quick ? QUICK_SIZES : SIZES) {
    for (const operations of OPERATIONS) counted.push(...(await countAll(lab, size, operations)));
  }
  return {
    title: "Rows, as a conversation grows",
    about: ABOUT,
    tables: [
      {
        columns: [
          "operation",
          "N",
          "ours read",
          "written",
          "0.32 read",
          "written",
          "0.20 read",
          "written",
          "0.32 over ours",
          "0.20 over ours",
        ],
        rows: OPERATIONS.flat().flatMap(({ name }) =>
          counted.filter(({ measured }) => measured.name === name).map((each) => render(each)),
        ),
      },
    ],
    checks: checkOurs(counted),
    plots: [draw(counted)],
  };
}

async function countAll(lab: Lab, size: number, operations: readonly Measured[]): Promise<Counted[]> {
  const counted = operations.map((measured): Counted & { rows: Partial<Record<ContenderName, Rows>> } => ({
    size,
    measured,
    rows: {},
  }));
  for (const contender of listContenders(size)) {
    const subject = await prepareSubject(lab, contender, {
      name: `growth-${size}-${operations[0]?.name}?start=1`,
      size,
    });
    for (const { measured, rows } of counted) {
      const found = await count(subject, measured, timesOf(contender, measured, size));
      if (found !== null) rows[contender] = found;
    }
  }
  return counted;
}

function timesOf(contender: ContenderName, { name, cold, once }: Measured, size: number): number {
  if (cold === true || once === true || (contender === "Sdk020" && size >= SLOW_OF_020)) return 1;
  return contender === "Ours" && name === "append" ? APPENDS : TIMES;
}

/** Null when the store has no such operation. */
async function count(subject: Subject, { operation, cold }: Measured, times: number): Promise<Rows | null> {
  if (cold === true) await subject.evict();
  const rows = await subject.count(operation, times);
  return rows.length === 0 ? null : typicalRows(rows);
}

function render({ size, measured, rows }: Counted): Cell[] {
  const cells = CONTENDERS.flatMap((name): Cell[] => [rows[name]?.read ?? NONE, rows[name]?.written ?? NONE]);
  const over = (name: ContenderName): Cell => {
    const times = ratio(rows[name]?.read, rows.Ours?.read);
    return times === null ? NONE : tellSmall(times);
  };
  return [measured.name, size, ...cells, over("Sdk032"), over("Sdk020")];
}

function checkOurs(counted: readonly Counted[]): Check[] {
  const grown: number[] = [];
  const bounded = OPERATIONS.flat().flatMap((asked): Check[] => {
    if (asked.most === null) return [];
    const found = counted.flatMap(({ measured, rows: { Ours } }) =>
      measured === asked && Ours !== undefined ? [Ours] : [],
    );
    const [read, written] = [found.map((rows) => rows.read), found.map((rows) => rows.written)];
    grown.push(Math.max(...read) - Math.min(...read));
    return [
      { claim: `rows read by: ${asked.name}`, measured: Math.max(...read), target: asked.most[0] },
      { claim: `rows written by: ${asked.name}`, measured: Math.max(...written), target: asked.most[1] },
    ];
  });
  const claim = "rows that any of these reads more at one N than at another";
  return [...bounded, { claim, measured: Math.max(...grown), target: 0 }];
}

function draw(counted: readonly Counted[]): Plot {
  const panels = DRAWN.map((title): Panel => {
    const shown = counted.filter(({ measured }) => measured.name === title);
    return {
      title,
      x: { label: "messages stored", scale: "log", unit: "count" },
      y: { label: "rows read", scale: "log", unit: "count" },
      lines: CONTENDERS.map((name) => ({
        name: name === "Ours" ? "ours" : name === "Sdk032" ? "0.32" : "0.20",
        points: shown.flatMap(({ size, rows }): [number, number][] => {
          const found = rows[name];
          return found === undefined ? [] : [[size, found.read]];
        }),
      })),
    };
  });
  return {
    file: "growth-rows",
    title: "Rows read by one operation as the conversation grows, ours and two versions of the SDK",
    panels,
  };
}
