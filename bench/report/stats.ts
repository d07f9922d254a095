/** Statistics of measured numbers. */
import type { Spread } from "./finding.ts";
import { mulberry } from "../random.ts";
import type { Rows } from "../objects/meter.ts";

/** Less than any step from one rank to the next. 100 times 0.07 is a little over 7, and means the seventh. */
const ROUNDING = 1e-9;

/** The smallest measured value that at least `share` (0 to 1) of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).toSorted();
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share - ROUNDING) - 1)];
  if (value === undefined) throw new Error("There is nothing to take a quantile of.");
  return value;
}

/** Of an even count, the lower of the two middle values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Null where one was not measured, or the divisor is 0. */
export function ratio(above: number | undefined, below: number | undefined): number | null {
  return above === undefined || below === undefined || below === 0 ? null : above / below;
}

/** Ratios pair by pair, so that a drift during a measurement is in both sides. */
export function ratios(above: readonly number[], below: readonly number[]): Spread {
  return spread(above.map((value, index) => value / (below[index] ?? Number.NaN)));
}

/** Rounds a number for storage. More digits than four are noise. A whole number was counted and stays. */
export function fourDigits(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Rows of one operation out of several repetitions. Takes the median of rows read and the mean of rows written, because only some
 * repetitions write the extra rows.
 */
export function typicalRows(rows: readonly Rows[]): Rows {
  return { read: median(rows.map(({ read }) => read)), written: mean(rows.map(({ written }) => written)) };
}

/** Draws of the bootstrap. More draws move its ends by less than the precision that they are read with. */
const DRAWS = 400;

/**
 * A quantile of the first values over the same quantile of the others, with paired resampling. `least` to `most` is the range of 95 of 100
 * such ratios. The same values give the same result, because chance is seeded.
 */
export function quantileRatio(above: readonly number[], below: readonly number[], share: number): Spread {
  const next = mulberry(1);
  const size = Math.min(above.length, below.length);
  const drawn = Array.from({ length: DRAWS }, () => {
    const picked = Array.from({ length: size }, () => Math.floor(next() * size));
    const [one, other] = [picked.map((at) => above[at] ?? 0), picked.map((at) => below[at] ?? 0)];
    return quantile(one, share) / quantile(other, share);
  });
  return {
    median: quantile(above, share) / quantile(below, share),
    least: quantile(drawn, 0.025),
    most: quantile(drawn, 0.975),
  };
}
