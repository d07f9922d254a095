/** The figures that the README shows: read from what was measured, written between two marks, and never by hand. */
import type { Cell } from "./finding.ts";
import { tellMissed } from "./missed.ts";
import { renderTable } from "./report.ts";
import type { Results } from "./results.ts";
import { listLosses } from "./worse.ts";

const BEGIN = "<!-- measured: written by npm run bench -->";
const END = "<!-- end of measured -->";
const PAGE = "bench/RESULTS.md";
/** In a cell for which there is nothing to tell. */
const NONE = "–";

/** Where a figure stands: in the first table of a case whose caption begins so, in the row of that name. */
interface Place {
  readonly of: string;
  readonly caption?: string;
  readonly column: string;
  /** For each column of the README's table; null where there is none. */
  readonly rows: readonly (string | null)[];
}

interface Line {
  readonly says: string;
  readonly places: Place | ((results: Results) => readonly Cell[]);
}

const COLUMNS = ["", "ours", "ours, with notes", "agents 0.32", "agents 0.20", "head and tail"];
const POLICIES = ["ours", "ours with notes", "sdk 0.32", "sdk 0.20", "head and tail"];

const LINES: readonly Line[] = [
  {
    says: "Names that come again: in view after 20 compactions",
    places: { of: "fidelity", caption: "a coding session", column: "view, after 20", rows: POLICIES },
  },
  {
    says: "in view, or in one answer of `recall` or search",
    // Head and tail is given no search here.
    places: {
      of: "fidelity",
      caption: "a coding session",
      column: "view or recall, after 20",
      rows: [...POLICIES.slice(0, -1), null],
    },
  },
  {
    says: "Rules of the user in view, mean over 20 compactions",
    places: {
      of: "fidelity",
      caption: "a coding session, summariser extractive: in view over all",
      column: "rules",
      rows: POLICIES,
    },
  },
  {
    says: "Rare words that come again, whatever they are: in view, mean over 20",
    places: {
      of: "fidelity",
      caption: "a coding session, summariser extractive: in view over all",
      column: "rare words",
      rows: POLICIES,
    },
  },
  {
    says: "Dollars for that session, a threshold of 60,000: agent and summariser",
    places: {
      of: "cost-of-a-conversation",
      caption: "the coding session, threshold 60,000: the bill",
      column: "both $",
      rows: POLICIES,
    },
  },
  {
    says: "Rows read by the first view of 14 messages of 9,000",
    places: (results) => readsOf(results, "first view"),
  },
  {
    says: "and before it by the start of its object",
    places: (results) => readsOf(results, "start"),
  },
  {
    says: "Milliseconds of the worst append while a summariser takes 5 s, from when it was due",
    places: {
      of: "behind-summariser",
      caption: "from when each was due",
      column: "worst ms",
      rows: ["Ours", null, "Sdk032", "Sdk020", null],
    },
  },
  {
    says: "Model calls in a minute in which every call fails",
    places: (results) => failingMinute(results),
  },
];

/** The README with its block of figures as `results` have them. Throws where the marks are missing. */
export function showFigures(readme: string, results: Results): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`The README has no room for figures: ${BEGIN} … ${END}.`);
  return `${readme.slice(0, from)}${BEGIN}\n\n${renderFigures(results)}\n\n${readme.slice(to)}`;
}

function renderFigures(results: Results): string {
  const rows = LINES.flatMap(({ says, places }) => {
    const cells = cellsOf(places, results);
    // What was measured of nobody has no line.
    return cells.every((cell) => cell === NONE) ? [] : [[says, ...cells]];
  });
  return [
    renderTable({ columns: COLUMNS, rows }, []),
    tellMissed(results, `${PAGE}#bounds-that-are-missed`),
    describeLosses(results),
    "![Names still in view, compaction by compaction](docs/images/bench-fidelity.svg)",
    "![Rows read, as a conversation grows](docs/images/bench-growth-rows.svg)",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
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

function readsOf(results: Results, asked: "first view" | "start"): readonly Cell[] {
  const table = results["growth"]?.finding.tables[0];
  const row = table?.rows.find(([operation, size]) => operation === asked && size === 9_000);
  const at = (column: string): Cell => row?.[table?.columns.indexOf(column) ?? -1] ?? NONE;
  return [at("ours read"), NONE, at("0.32 read"), at("0.20 read"), NONE];
}

function failingMinute(results: Results): readonly Cell[] {
  const table = results["bad-summariser"]?.finding.tables[0];
  const calls = (store: string): Cell => {
    const row = table?.rows.find(([kind, name]) => kind === "fails" && name === store);
    return row?.[table?.columns.indexOf("model calls") ?? -1] ?? NONE;
  };
  return [calls("Ours"), NONE, calls("Sdk032"), calls("Sdk020"), NONE];
}

function describeLosses(results: Results): string {
  const list = listLosses(results).map(({ title, losses }) => {
    const names = new Set(losses.map(({ name }) => name));
    return `- ${title}: ${[...names].join("; ")}`;
  });
  if (list.length === 0) return "";
  return `Another is better ([by how much](${PAGE}#where-another-is-better)) in:\n\n${list.join("\n")}`;
}
