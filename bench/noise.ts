/** Two measurements of the same build, laid side by side: what differs between them is noise. */
import type { Cell, Check, Finding, Table } from "./finding.ts";

/** Share by which two values may differ and still count as the same. */
const BAND = 0.2;

/** A finding as it is kept: marks say which of its cells are noise, `again` is what each check gave the second time. */
export interface Settled extends Finding {
  /** For each table, the cells outside the band, as "row:column". Empty for what was measured once. */
  readonly noise: readonly (readonly string[])[];
  readonly again: readonly number[];
}

export function once(finding: Finding): Settled {
  return { ...finding, noise: finding.tables.map(() => []), again: [] };
}

/** The first measurement, marked where the second one differs. A check is judged by the mean of both. */
export function settle(first: Finding, second: Finding): Settled {
  const checks = first.checks.map((check, at) => meanOf(check, second.checks[at]));
  return {
    ...first,
    checks,
    noise: first.tables.map((table, at) => noisy(table, second.tables[at])),
    again: second.checks.map(({ measured }) => measured),
  };
}

function meanOf(first: Check, second: Check | undefined): Check {
  return second === undefined ? first : { ...first, measured: (first.measured + second.measured) / 2 };
}

function noisy(first: Table, second: Table | undefined): string[] {
  return first.rows.flatMap((row, line) =>
    row.flatMap((cell, column) => (isNoise(cell, second?.rows[line]?.[column]) ? [`${line}:${column}`] : [])),
  );
}

function isNoise(first: Cell, second: Cell | undefined): boolean {
  const [one, other] = [valueOf(first), second === undefined ? null : valueOf(second)];
  if (one === null || other === null || one === other) return false;
  return Math.abs(one - other) > BAND * Math.max(Math.abs(one), Math.abs(other));
}

function valueOf(cell: Cell): number | null {
  if (typeof cell === "string") return null;
  return typeof cell === "number" ? cell : cell.median;
}
