/**
 * Lists where another store is better than ours. It reads the result tables, so that no loss is left out by hand.
 */
import type { Cell, Table } from "./finding.ts";
import { renderCell } from "./render.ts";
import type { Results } from "./results.ts";

/** One thing that another store does for less. */
export interface Loss {
  /** Short, for a list of names. */
  readonly name: string;
  /** In full, with the figures. */
  readonly says: string;
}

export interface Losses {
  readonly title: string;
  /** What each of them is, in the plural. */
  readonly are: string;
  readonly losses: readonly Loss[];
}

/** A ratio of times above this is a tie, because a machine that runs other work is noisy. */
const TIE = 0.95;
const PEERS = ["0.32", "0.20"] as const;
type Peer = (typeof PEERS)[number];

/** The compared figures in words. */
export const READ =
  "rows of one operation, its time beside the SDK's sessions, appends behind a summariser, model calls and views where a summariser is slow or of no use, what a summariser reads, and the bills of conversations";

/** Losses by subject. A subject without a loss is left out. */
export function listLosses(results: Results): readonly Losses[] {
  const tablesOf = (name: string): readonly Table[] => results[name]?.finding.tables ?? [];
  const behind = tablesOf("behind-summariser");
  const [bad] = tablesOf("bad-summariser");
  const bills = tablesOf("cost-of-a-conversation");
  return [
    { title: "Rows", are: "counts of rows", losses: losesRows(tablesOf("growth")[0]) },
    { title: "Time", are: "times", losses: [...losesTime(tablesOf("side-by-side")[0]), ...losesWait(behind)] },
    { title: "Model calls", are: "counts of model calls", losses: losesCalls(behind[0], bad) },
    {
      title: "The view after a summariser of no use, in thresholds",
      are: "view sizes",
      losses: losesBad(bad, "view, in thresholds"),
    },
    {
      title: "Tokens that a summariser reads",
      are: "counts of a summariser's tokens",
      losses: losesBill(bills, "in", "none"),
    },
    { title: "Dollars", are: "bills", losses: losesBill(bills, "both $") },
  ].filter(({ losses }) => losses.length > 0);
}

/** The figures at one number of stored messages. */
interface At {
  readonly size: string;
  readonly ours: number;
  readonly theirs: number;
}

/** Columns come in pairs of rows read and rows written, ours first. */
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

/** Groups by the name in a table's first column. The second column may have many sizes for one name. */
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

/** How to compare the rows of a table that have one name. Compares one column in which less is better. */
interface Race {
  readonly column: string;
  /** The column with the contender's name. */
  readonly who: number;
  readonly name: (row: readonly Cell[]) => string;
  /** Theirs counts as less below this share of ours. */
  readonly tie?: number;
  /** A contender whose rows are not compared. */
  readonly without?: string | undefined;
}

/** Each row of ours with all rows that are less. */
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

/** Merges the losses of one name. */
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

/** Grouped by the summariser's fault. */
function losesBad(table: Table | undefined, column: string): readonly Loss[] {
  return losesIn(table, { column, who: 1, name: ([kind = NONE]) => `the summariser: ${renderCell(kind)}` });
}

/** Compares each column of times, both from the call of an append and from the moment when it was due. */
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

const NONE = "–";
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
