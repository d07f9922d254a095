/**
 * Where another is better than ours: read from the tables that were measured, so that no loss is left out because nobody
 * wrote it down.
 */
import type { Cell, Table } from "./finding.ts";
import { renderCell } from "./report.ts";
import type { Results } from "./results.ts";

/** One thing that another does for less. */
export interface Loss {
  /** In short: for a list of names. */
  readonly name: string;
  /** In full, with the figures. */
  readonly says: string;
}

export interface Losses {
  readonly title: string;
  readonly losses: readonly Loss[];
}

/** Of times: closer than this is a tie on a machine with others at work on it. */
const TIE = 0.95;
const PEERS = ["0.32", "0.20"] as const;
type Peer = (typeof PEERS)[number];

/** What is read here, in words. */
export const READ =
  "rows of one operation, its time beside the SDK's sessions, appends behind a summariser, model calls and views where a summariser is slow or of no use, what a summariser reads, the bills of conversations, and what is still there of them";

/** By what is compared; what has no loss is left out. */
export function listLosses(results: Results): readonly Losses[] {
  const tablesOf = (name: string): readonly Table[] => results[name]?.finding.tables ?? [];
  const behind = tablesOf("behind-summariser");
  const [bad] = tablesOf("bad-summariser");
  const bills = tablesOf("cost-of-a-conversation");
  return [
    { title: "Rows", losses: losesRows(tablesOf("growth")[0]) },
    { title: "Time", losses: [...losesTime(tablesOf("side-by-side")[0]), ...losesWait(behind)] },
    { title: "Model calls", losses: losesCalls(behind[0], bad) },
    { title: "The view after a summariser of no use, in thresholds", losses: losesBad(bad, "view, in thresholds") },
    { title: "Tokens that a summariser reads", losses: losesBill(bills, "in", "none") },
    { title: "Dollars", losses: losesBill(bills, "both $") },
    { title: "What is still there", losses: losesSight(tablesOf("fidelity")) },
  ].filter(({ losses }) => losses.length > 0);
}

/** At one number of stored messages. */
interface At {
  readonly size: string;
  readonly ours: number;
  readonly theirs: number;
}

/** Columns come in pairs, what is read and then what is written: ours first. */
function losesRows(table: Table | undefined): readonly Loss[] {
  const kinds = ["reads", "writes"].flatMap((verb, offset) =>
    PEERS.map((peer) => ({
      verb,
      peer,
      ours: at(table, "ours read") + offset,
      theirs: at(table, `${peer} read`) + offset,
    })),
  );
  return kinds.flatMap(({ verb, peer, ours, theirs }) =>
    grouped(table, { ours, theirs }, (one) => one.ours > one.theirs).map(([name, sizes]) => {
      const largest = sizes.at(-1);
      const figures = `${renderCell(largest?.ours ?? NONE)}, where ${peer} ${verb} ${renderCell(largest?.theirs ?? NONE)}`;
      return { name, says: `\`${name}\` ${verb} ${figures} (${range(sizes)})` };
    }),
  );
}

function losesTime(table: Table | undefined): readonly Loss[] {
  return PEERS.flatMap((peer: Peer) => {
    const theirs = at(table, `${peer} over ours`);
    return grouped(table, { ours: theirs, theirs }, (one) => one.theirs < TIE).map(([name, sizes]) => {
      const shares = sizes.map((each) => each.theirs);
      const [least, most] = [renderCell(Math.min(...shares)), renderCell(Math.max(...shares))];
      const share = least === most ? least : `${least} to ${most}`;
      return { name, says: `\`${name}\`: ${peer} takes ${share} of our time (${range(sizes)})` };
    });
  });
}

/** By the name in a table's first column, which may have many sizes in its second. */
function grouped(
  table: Table | undefined,
  columns: { readonly ours: number; readonly theirs: number },
  isWorse: (one: At) => boolean,
): readonly (readonly [string, readonly At[]])[] {
  const found = new Map<string, At[]>();
  for (const row of table?.rows ?? []) {
    const [ours, theirs] = [numberOf(row[columns.ours]), numberOf(row[columns.theirs])];
    const one = { size: renderCell(row[1] ?? NONE), ours: ours ?? 0, theirs: theirs ?? 0 };
    if (ours === null || theirs === null || !isWorse(one)) continue;
    const name = renderCell(row[0] ?? NONE);
    found.set(name, [...(found.get(name) ?? []), one]);
  }
  return [...found];
}

/** What of a table is compared: one column, where less is better, of rows that are called the same. */
interface Race {
  readonly column: string;
  /** The column that says whose row it is. */
  readonly who: number;
  readonly name: (row: readonly Cell[]) => string;
  /** Theirs is less below this share of ours. */
  readonly tie?: number;
  /** Whose row is not compared. */
  readonly without?: string | undefined;
}

/** Each of ours with all that are less. */
function losesIn(table: Table | undefined, { column, who, name, tie = 1, without }: Race): readonly Loss[] {
  const place = at(table, column);
  const rows = (table?.rows ?? []).filter((row) => row[who] !== without && numberOf(row[place]) !== null);
  const tell = (row: readonly Cell[]): string => `${renderCell(row[who] ?? NONE)} ${renderCell(row[place] ?? NONE)}`;
  const value = (row: readonly Cell[]): number => numberOf(row[place]) ?? Infinity;
  const isOurs = (row: readonly Cell[]): boolean => /^ours\b/i.test(renderCell(row[who] ?? NONE));
  const losses = rows.filter(isOurs).flatMap((row) => {
    const others = rows.filter((each) => !isOurs(each) && name(each) === name(row));
    const less = others.filter((each) => value(each) < value(row) * tie);
    return less.length === 0 ? [] : [{ name: name(row), says: [row, ...less].map(tell).join(", ") }];
  });
  return joined(losses);
}

/** One for each name. */
function joined(losses: readonly Loss[]): readonly Loss[] {
  return [...Map.groupBy(losses, ({ name }) => name)].map(([name, each]) => ({
    name,
    says: `${name}: ${each.map(({ says }) => says).join("; ")}`,
  }));
}

function losesCalls(behind: Table | undefined, bad: Table | undefined): readonly Loss[] {
  const slow = losesIn(behind, { column: "model calls", who: 0, name: () => "the summariser: slow" });
  return [...slow, ...losesBad(bad, "model calls")];
}

/** By what is the matter with the summariser. */
function losesBad(table: Table | undefined, column: string): readonly Loss[] {
  return losesIn(table, { column, who: 1, name: ([kind = NONE]) => `the summariser: ${renderCell(kind)}` });
}

/** Each column of times, from when appends were called and from when they were due. */
function losesWait(tables: readonly Table[]): readonly Loss[] {
  return tables.flatMap((table) =>
    table.columns
      .filter((column) => column.endsWith(" ms"))
      .flatMap((column) => losesIn(table, { column, who: 0, name: () => waitOf(column, table), tie: TIE })),
  );
}

function waitOf(column: string, { caption }: Table): string {
  return ["appends behind a summariser,", column, ...(caption === undefined ? [] : [caption])].join(" ");
}

function losesBill(tables: readonly Table[], column: string, without?: string): readonly Loss[] {
  return tables.flatMap((table) => {
    const name = (table.caption ?? "").replace(/: the bill$/, "");
    return losesIn(table, { column, who: 0, name: () => name, without });
  });
}

/** The table says itself who is behind: each line of it is a loss, by what is looked for in which conversation. */
function losesSight(tables: readonly Table[]): readonly Loss[] {
  const table = tables.find(({ columns }) => columns.includes(BEHIND));
  const rows = (table?.rows ?? []).map((row) => {
    const cell = (column: string): string => renderCell(row[at(table, column)] ?? NONE);
    const name = `${cell("what")}, ${cell("conversation")}, ${cell("summariser")}`;
    const where = `after ${cell("after")}, ${cell("in")}, most in ${cell("most in")}`;
    return { name, says: `${cell(BEHIND)} ${cell("ours")}, where ${cell("rival")} has ${cell("shows")} (${where})` };
  });
  return joined(rows);
}

const NONE = "–";
/** The column of a table of losses that names which of ours is behind. */
const BEHIND = "which of ours";

function at(table: Table | undefined, column: string): number {
  return table?.columns.indexOf(column) ?? -1;
}

function numberOf(cell: Cell | undefined): number | null {
  if (cell === undefined || typeof cell === "string") return null;
  return typeof cell === "number" ? cell : cell.median;
}

function range(sizes: readonly At[]): string {
  const [first, last] = [sizes[0]?.size ?? NONE, sizes.at(-1)?.size ?? NONE];
  return first === last ? `N = ${first}` : `N = ${first} to ${last}`;
}
