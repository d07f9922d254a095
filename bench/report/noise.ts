/** Compares two measurements of the same build. Differences between them are noise. */
import type { Cell, Check, Finding, Table } from "./finding.ts";

/** Share by which two values may differ and still count as equal. */
const BAND = 0.2;

/** A finding as it is stored. Marks say which of its cells are noise. */
export interface Settled extends Finding {
  /** For each table, the cells outside the band, as "row:column". Empty for a finding that was measured once. */
  readonly noise: readonly (readonly string[])[];
  /** For each check, the figure of the second measurement. For an exact check, the figure that is not judged. */
  readonly again: readonly number[];
}

export function once(finding: Finding): Settled {
  return { ...finding, noise: finding.tables.map(() => []), again: [] };
}

/**
 * The first measurement, marked where the second one differs. A check on times is judged by the mean of both. An exact check is judged by
 * the worse one, because a counted event did happen.
 */
export function settle(first: Finding, second: Finding): Settled {
  const pairs = first.checks.map((check, at) => judge(check, second.checks[at] ?? check));
  return {
    ...first,
    checks: pairs.map(({ check }) => check),
    noise: first.tables.map((table, at) => noisy(table, second.tables[at])),
    again: pairs.map(({ again }) => again),
  };
}

function judge(first: Check, { measured: other }: Check): { readonly check: Check; readonly again: number } {
  const one = first.measured;
  if (!first.exact) return { check: { ...first, measured: (one + other) / 2 }, again: other };
  const [better, worse] = isWorse(first, other) ? [one, other] : [other, one];
  return { check: { ...first, measured: worse }, again: better };
}

/** A figure that could not be measured counts as the worst. */
function isWorse({ measured, better }: Check, other: number): boolean {
  if (Number.isNaN(measured) || Number.isNaN(other)) return Number.isNaN(other);
  return better === "more" ? other < measured : other > measured;
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
