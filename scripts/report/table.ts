/** Tables and progress bars as text. */
import { createPaint, type Paint } from "./paint.ts";
import { columns, pad } from "./text.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** The lines of a table, a dim head and then one line per row. Cells may be coloured. Every column is as wide as its widest cell. */
export function table(
  head: readonly Column[],
  rows: readonly (readonly string[])[],
  paint: Paint = createPaint(false),
) {
  const widths = head.map((column, at) =>
    Math.max(columns(column.title), ...rows.map((row) => columns(row[at] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    head
      .map((column, at) => pad(cells[at] ?? "", widths[at] ?? 0, column.align))
      .join("  ")
      .trimEnd();
  return [paint(line(head.map((column) => column.title)), "dim"), ...rows.map(line)];
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** A bar of `width` columns with `done` of `total` filled, to an eighth of a column. */
export function progressBar(done: number, total: number, width: number): string {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0;
  const eighths = Math.round(share * width * 8);
  const filled = "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
  return filled + "░".repeat(width - filled.length);
}
