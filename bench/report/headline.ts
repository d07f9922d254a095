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

/** What a reader of a view answered of an exam on what it hides. Empty where nobody took one with ours. */
function describeSight(results: Results): string {
  const table = results["minds"]?.finding.tables[0];
  const cell = (arm: string, column: string): string => {
    const use = table?.columns.indexOf("use") ?? -1;
    const row = table?.rows.find((each) => each[0] === arm && each[use] === "show");
    return renderCell(row?.[table?.columns.indexOf(column) ?? -1] ?? NONE);
  };
  const [ours, sdk] = ["palimpsest 0.1.0", "agents/sessions 0.32"];
  if (cell(ours, "score") === NONE) return "";
  const share = (column: string): number => numberOf(cell(sdk, column)) / numberOf(cell(ours, column));
  const cost = ["tokens in", "view tokens"].map(share).every(Number.isFinite)
    ? `, for ${share("tokens in").toFixed(2)} of our summariser's tokens, in ${share("view tokens").toFixed(2)} of our view`
    : "";
  const tell = (arm: string): string =>
    `${cell(arm, "score")}, the least ${cell(arm, "least")}, ${cell(arm, "wrong")} wrong`;
  return [
    `- An exam on what the view hides (${cell(ours, "sessions")} recorded sessions that chose nothing; first and last messages alone ${cell("head and tail", "score")}):`,
    `  - before: ${tell(`${ours} before`)};`,
    `  - now: ${tell(ours)}, and ${cell(`${ours} with five recalls`, "score")} where it may recall five times;`,
    `  - the SDK's summary: ${tell(sdk)}${cost}.`,
  ].join("\n");
}

function numberOf(rendered: string): number {
  return Number(rendered.replaceAll(",", ""));
}

/** What the rent rule's bills come to beside the SDK's. Empty where none was measured. */
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
  const continued = of("rent, and the live prompt continued", "bill, geometric mean");
  const says = `- \`auto\`, ${sessions} sessions: ${bill} of the SDK's bills at 60,000 tokens, ${continued} where it continues the agent's prompt.`;
  return wrap(says).replaceAll("\n", "\n  ");
}

function describeLosses(results: Results): string {
  const list = listLosses(results).map(({ are }) => are);
  if (list.length === 0) return "";
  return wrap(`Another store is better in some ${list.join(", ")}: [here is each](${PAGE}#where-another-is-better).`);
}

/** Lines short enough for a terminal. */
function wrap(text: string): string {
  return text.replace(/(.{1,118})(?: |$)/g, "$1\n").trimEnd();
}
