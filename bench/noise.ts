/** Two measurements of the same build, laid side by side: what differs between them is noise. */
import type { Cell, Check, Finding, Table } from "./finding.ts";

/** Share by which two values may differ and still count as the same. */
const BAND = 0.2;

/** A finding as it is kept: marks say which of its cells are noise. */
export interface Settled extends Finding {
  /** For each table, the cells outside the band, as "row:column". Empty for what was measured once. */
  readonly noise: readonly (readonly string[])[];
  /** Of each check: what it gave the second time; of an exact one, what it gave the time that is not judged. */
  readonly again: readonly number[];
}

export function once(finding: Finding): Settled {
  return { ...finding, noise: finding.tables.map(() => []), again: [] };
}

/**
 * The first measurement, marked where the second one differs. A promise about times is judged by the mean of both. An exact one
 * by the worse: what was counted once has happened.
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

/** What could not be measured is no better than anything. */
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
