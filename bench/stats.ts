/** Numbers about numbers. */
import type { Spread } from "./case.ts";

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error("There is nothing to take a quantile of.");
  return value;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Pair by pair: what drifts during a measurement drifts in both. */
export function ratios(above: readonly number[], below: readonly number[]): Spread {
  return spread(above.map((value, index) => value / (below[index] ?? Number.NaN)));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
