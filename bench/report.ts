/** Findings as text: markdown whose columns line up, so that a terminal and a page can both show it. */
import { isKept, type Cell, type Check, type Finding } from "./case.ts";

export function renderFinding({ title, about, columns, rows, checks }: Finding): string {
  const table = renderTable([columns, ...rows.map((row) => row.map(renderCell))]);
  return [`## ${title}`, about, table, checks.map(renderCheck).join("\n")].filter((part) => part !== "").join("\n\n");
}

function renderCheck(check: Check): string {
  const word = isKept(check) ? "kept" : "MISSED";
  return `- ${word}: ${check.claim} is ${renderCell(check.measured)}, at most ${renderCell(check.target)}`;
}

function renderTable(lines: readonly (readonly string[])[]): string {
  const [head = []] = lines;
  const widths = head.map((_, column) => Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)));
  const row = (line: readonly string[]): string =>
    `| ${widths.map((width, column) => (line[column] ?? "").padStart(width)).join(" | ")} |`;
  const rule = row(widths.map((width) => `${"-".repeat(width - 1)}:`));
  return [row(head), rule, ...lines.slice(1).map(row)].join("\n");
}

function renderCell(cell: Cell): string {
  if (typeof cell === "string") return cell;
  if (typeof cell === "number") return renderNumber(cell);
  return `${renderNumber(cell.median)} (${renderNumber(cell.least)}–${renderNumber(cell.most)})`;
}

function renderNumber(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(2);
}
