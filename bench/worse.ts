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

/** By what is compared; what has no loss is left out. */
export function listLosses(results: Results): readonly Losses[] {
  return [
    { title: "Rows", losses: losesRows(results["growth"]?.finding.tables[0]) },
    { title: "Time", losses: losesTime(results["side-by-side"]?.finding.tables[0]) },
    { title: "Model calls", losses: losesCalls(results["bad-summariser"]?.finding.tables[0]) },
    { title: "Dollars", losses: losesDollars(results["cost-of-a-conversation"]?.finding.tables ?? []) },
    { title: "What is still there", losses: losesSight(results["fidelity"]?.finding.tables ?? []) },
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

function losesCalls(table: Table | undefined): readonly Loss[] {
  const column = at(table, "model calls");
  const rows = table?.rows ?? [];
  return rows.flatMap((row) => {
    if (row[1] !== "Ours") return [];
    const ours = numberOf(row[column]) ?? 0;
    const fewer = rows.filter((each) => each[0] === row[0] && (numberOf(each[column]) ?? ours) < ours);
    if (fewer.length === 0) return [];
    const name = `the summariser: ${renderCell(row[0] ?? NONE)}`;
    const others = fewer.map((each) => `${renderCell(each[1] ?? NONE)} makes ${renderCell(each[column] ?? NONE)}`);
    return [{ name, says: `${name}: ours makes ${ours}, ${others.join(", ")}` }];
  });
}

function losesDollars(tables: readonly Table[]): readonly Loss[] {
  return tables.flatMap((table) => {
    const column = table.columns.indexOf("both $");
    const ours = numberOf(table.rows.find(([policy]) => policy === "ours")?.[column]);
    if (column === -1 || ours === null) return [];
    const cheaper = table.rows.filter(([, ...cells]) => (numberOf(cells[column - 1]) ?? ours) < ours);
    if (cheaper.length === 0) return [];
    const name = (table.caption ?? "").replace(/: the bill$/, "");
    const others = cheaper.map((row) => `${renderCell(row[0] ?? NONE)} ${renderCell(row[column] ?? NONE)}`);
    return [{ name, says: `${name}: ours ${renderCell(ours)}, ${others.join(", ")}` }];
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
  return [...Map.groupBy(rows, ({ name }) => name)].map(([name, each]) => ({
    name,
    says: `${name}: ${each.map(({ says }) => says).join("; ")}`,
  }));
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
