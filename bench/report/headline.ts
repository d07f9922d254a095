/** The figures that the README shows. They are read from the results and written between two marks, never by hand. */
import type { Cell } from "./finding.ts";
import { renderCell, renderTable } from "./render.ts";
import type { Results } from "./results.ts";
import { listLosses } from "./worse.ts";

const BEGIN = "<!-- measured: written by npm run bench -->";
const END = "<!-- end of measured -->";
/** Around the three sentences at the README's top. */
const BEGIN_SHORT = "<!-- measured in short: written by npm run bench -->";
const END_SHORT = "<!-- end of measured in short -->";
const PAGE = "bench/RESULTS.md";
/** A cell without a figure. */
const NONE = "–";

/** Where a figure stands. Names a case, the start of a table's caption (the first table that fits), a column and a row. */
interface Place {
  readonly of: string;
  readonly caption?: string;
  readonly column: string;
  /** The row for each column of the README's table, or null where there is none. */
  readonly rows: readonly (string | null)[];
}

interface Line {
  readonly says: string;
  readonly places: Place | ((results: Results) => readonly Cell[]);
}

const COLUMNS = ["", "Palimpsest", "agents 0.32", "agents 0.20", "head and tail"];
const POLICIES = ["ours", "sdk 0.32", "sdk 0.20", "head and tail"];

const LINES: readonly Line[] = [
  {
    says: "Dollars for a coding session, all calls",
    places: {
      of: "cost-of-a-conversation",
      caption: "the coding session, threshold 60,000: the bill",
      column: "both $",
      rows: POLICIES,
    },
  },
  {
    says: "Rows read by the first view of 9,000 messages",
    places: (results) => readsOf(results, "first view"),
  },
  {
    says: "Worst append (ms) while a summariser takes 5 s",
    places: {
      of: "behind-summariser",
      caption: "from when each was due",
      column: "worst ms",
      rows: ["Ours", "Sdk032", "Sdk020", null],
    },
  },
  {
    says: "Model calls in a minute in which all fail",
    places: (results) => failingMinute(results),
  },
];

/** The README with its two blocks of figures taken from `results`. Throws where the marks are missing. */
export function showFigures(readme: string, results: Results): string {
  const short = between(readme, [BEGIN_SHORT, END_SHORT], `\n${renderShort(results)}\n`);
  return between(short, [BEGIN, END], `\n\n${renderFigures(results)}\n\n`);
}

function between(readme: string, [begin, end]: readonly [string, string], text: string): string {
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The README has no room for figures: ${begin} … ${end}.`);
  return `${readme.slice(0, from)}${begin}${text}${readme.slice(to)}`;
}

/** What a stranger reads first: a figure for each promise, beside that of the SDK's sessions. */
function renderShort(results: Results): string {
  const [reads, append, calls] = LINES.slice(1).map(({ places }) => {
    const [ours = NONE, theirs = NONE] = cellsOf(places, results);
    return { ours: rounded(ours), theirs: rounded(theirs) };
  });
  return [
    `- **No wait.** While a summariser takes 5 s, the slowest append takes ${append?.ours} ms (the SDK's sessions: ${append?.theirs}).`,
    `- **No loss.** No message is deleted, and a first view of 9,000 messages reads ${reads?.ours} rows (${reads?.theirs}).`,
    `- **No second bill.** A crash pays for no stored answer twice. A model that fails is asked ${calls?.ours} times a minute (${calls?.theirs}).`,
  ].join("\n");
}

function rounded(cell: Cell): string {
  return renderCell(typeof cell === "number" ? Math.round(cell) : cell);
}

function renderFigures(results: Results): string {
  return [renderHeadline(results), describeKept(results), describeLosses(results)]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The lines that say most about ours and the others. */
export function renderHeadline(results: Results): string {
  const rows = LINES.flatMap(({ says, places }) => {
    const cells = cellsOf(places, results);
    // A line without any figure is left out.
    return cells.every((cell) => cell === NONE) ? [] : [[says, ...cells]];
  });
  return renderTable({ columns: COLUMNS, rows }, []);
}

function cellsOf(places: Line["places"], results: Results): readonly Cell[] {
  if (typeof places === "function") return places(results);
  return places.rows.map((row) => (row === null ? NONE : find(results, places, row)));
}

function find(results: Results, { of, caption = "", column }: Place, row: string): Cell {
  const tables = results[of]?.finding.tables ?? [];
  const table = tables.find((each) => (each.caption ?? "").startsWith(caption) && each.columns.includes(column));
  const cell = table?.rows.find(([name]) => name === row)?.[table.columns.indexOf(column)];
  return cell ?? NONE;
}

function readsOf(results: Results, asked: "first view"): readonly Cell[] {
  const table = results["growth"]?.finding.tables[0];
  const row = table?.rows.find(([operation, size]) => operation === asked && size === 9_000);
  const at = (column: string): Cell => row?.[table?.columns.indexOf(column) ?? -1] ?? NONE;
  return [at("ours read"), at("0.32 read"), at("0.20 read"), NONE];
}

function failingMinute(results: Results): readonly Cell[] {
  const table = results["bad-summariser"]?.finding.tables[0];
  const calls = (store: string): Cell => {
    const row = table?.rows.find(([kind, name]) => kind === "fails" && name === store);
    return row?.[table?.columns.indexOf("model calls") ?? -1] ?? NONE;
  };
  return [calls("Ours"), calls("Sdk032"), calls("Sdk020"), NONE];
}

/** One list of what is brought back and of what it costs. Empty where neither was measured. */
export function describeKept(results: Results): string {
  return [describeSight(results), describeBill(results)].filter((part) => part !== "").join("\n");
}

/** The column of the figures for sources that had no part in choosing the weights. */
const LEFT_OUT = "rescued there, left out";

/** What summaries and names bring back, beside the floor and at the worst. Empty where no session was measured. */
function describeSight(results: Results): string {
  const [wide, narrow] = ["a fifteenth", "a thirtieth"].map((share) => {
    const table = results["fidelity"]?.finding.tables.find(
      ({ caption = "" }) => caption.includes(share) && caption.endsWith("by source"),
    );
    const leftOut = results["fidelity"]?.finding.tables.find(({ caption = "" }) =>
      caption.startsWith(`Weights chosen on the other sources, ${share}`),
    );
    return (column: string): string => {
      const at = column === LEFT_OUT ? leftOut : table;
      const row = at?.rows.find(([name]) => name === (column === LEFT_OUT ? "mean over sources" : "all sessions"));
      const cell = row?.[at?.columns.indexOf(column) ?? -1] ?? NONE;
      return renderCell(cell);
    };
  });
  if (wide === undefined || narrow === undefined || wide("sessions") === NONE) return "";
  const [ours, floor] = ["rescued by ours", "by the floor"] as const;
  return [
    `- Of hidden names that came up again, summaries of 1/15 of the threshold (4,000 of 60,000) show ${wide(ours)}, of 1/30 ${narrow(ours)}.`,
    `- A bare list of rare words shows ${wide(floor)} and ${narrow(floor)} in as much room. The first and last messages alone show ${wide("head and tail")}.`,
    `- Means of ${wide("sessions")} recorded sessions, the worst ${wide("rescued there")}. Tuned without the source that is tried: ${wide(LEFT_OUT)} and ${narrow(LEFT_OUT)}.`,
  ]
    .map((line) => wrap(line).replaceAll("\n", "\n  "))
    .join("\n");
}

/** What the rent rule's bills come to beside the SDK's, what each keeps, and what is to be read again for the rest. Empty where none was measured. */
function describeBill(results: Results): string {
  const table = results["cost"]?.finding.tables.find(({ caption = "" }) => caption.includes("dear writes: bills"));
  const cell = (policy: string, column: string): Cell => {
    const row = table?.rows.find(([name]) => name === policy);
    return row?.[table?.columns.indexOf(column) ?? -1] ?? NONE;
  };
  const of = (policy: string, column: string): string => renderCell(cell(policy, column));
  const bill = of("rent", "bill, geometric mean");
  if (bill === NONE) return "";
  const sessions = /^\d+/.exec(table?.caption ?? "")?.[0] ?? NONE;
  const kept = (policy: string): string => of(policy, "kept, mean");
  const [again = 0, theirs = 0] = ["rent", "sdk at 60,000"].map((policy) => Number(cell(policy, "again, tokens")));
  const says =
    `- \`auto\`, ${sessions} sessions: ${bill} of the SDK's bills, ${kept("rent")} of needed words in view ` +
    `(SDK ${kept("sdk at 60,000")}), ${renderCell(again / theirs)} of its tokens to reread.`;
  return wrap(says).replaceAll("\n", "\n  ");
}

function describeLosses(results: Results): string {
  const list = listLosses(results).map(({ are, losses }) => `${losses.length} ${are}`);
  if (list.length === 0) return "";
  const says = `In [these figures](${PAGE}#where-another-is-better) another store is better: ${list.join(", ")}.`;
  return wrap(says);
}

/** Lines short enough for a terminal. */
function wrap(text: string): string {
  return text.replace(/(.{1,118})(?: |$)/g, "$1\n").trimEnd();
}
