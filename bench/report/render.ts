/** Renders findings as markdown with aligned columns, readable in a terminal and on a page. */
import { isKept, type Cell, type Check, type Finding, type Table } from "./finding.ts";
import type { Settled } from "./noise.ts";

const LEAST_TOLD = 0.01;

/** `picture` makes the markdown of a plot. Null for a terminal. */
export function renderFinding(finding: Settled, picture: ((file: string, title: string) => string) | null): string {
  const { title, about, tables, noise, checks, again, plots = [], unmeasured = [] } = finding;
  return [
    `## ${title}`,
    renderAbout(about),
    ...tables.flatMap((table, at) => [table.caption ?? "", renderTable(table, noise[at] ?? [])]),
    checks.map((check, at) => renderCheck(check, again[at])).join("\n"),
    unmeasured.length === 0 ? "" : `Not measured: ${unmeasured.join("; ")}.`,
    ...(picture === null ? [] : plots.map((plot) => picture(plot.file, plot.title))),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function renderAbout(about: Finding["about"]): string {
  if (typeof about === "string") return about;
  const [done = "", ...points] = about;
  return [done, points.map((point) => `- ${point}`).join("\n")].filter((part) => part !== "").join("\n\n");
}

function renderCheck(check: Check, again: number | undefined): string {
  const word = isKept(check) ? "kept" : "MISSED";
  const bound = check.better === "more" ? "at least" : "at most";
  // An exact check holds the worse of both measurements. Any other holds their mean, from which the first one is computed again.
  const one = check.exact ? check.measured : 2 * check.measured - (again ?? 0);
  const twice = again === undefined ? "" : ` (${renderCell(one)} and ${renderCell(again)})`;
  return `- ${word}: ${check.claim} is ${renderBeside(check.measured, check.target)}${twice}, ${bound} ${renderCell(check.target)}`;
}

export function renderTable({ columns, rows }: Table, noise: readonly string[]): string {
  const marked = rows.map((row, line) =>
    row.map((cell, column) => `${noise.includes(`${line}:${column}`) ? "~" : ""}${renderCell(cell)}`),
  );
  const lines = [columns, ...marked];
  const widths = columns.map((_, column) => Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)));
  const row = (line: readonly string[]): string =>
    `| ${widths.map((width, column) => (line[column] ?? "").padStart(width)).join(" | ")} |`;
  const rule = row(widths.map((width) => `${"-".repeat(width - 1)}:`));
  return [row(columns), rule, ...marked.map(row)].join("\n");
}

/** A value that two digits would round to nothing is called small instead. */
export function tellSmall(value: number): Cell {
  return value > 0 && value < LEAST_TOLD ? `under ${LEAST_TOLD}` : value;
}

export function renderCell(cell: Cell): string {
  if (typeof cell === "string") return cell;
  if (typeof cell === "number") return renderNumber(cell);
  return `${renderNumber(cell.median)} (${renderNumber(cell.least)}–${renderNumber(cell.most)})`;
}

/** Uses as many digits as it takes to tell a number from its bound. */
export function renderBeside(measured: number, target: number): string {
  const short = renderCell(measured);
  return measured !== target && Number(short.replaceAll(",", "")) === target
    ? String(Number(measured.toPrecision(4)))
    : short;
}

function renderNumber(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(2);
}
