/** What one case of the benchmark is, and what it tells. */
import type { Lab } from "./lab.ts";

/** A number that was taken several times. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export type Cell = string | number | Spread;

export interface Finding {
  readonly title: string;
  /** What was done, in a sentence or two. */
  readonly about: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly checks: readonly Check[];
}

/** A promise, and the number that keeps or breaks it. */
export interface Check {
  readonly claim: string;
  readonly measured: number;
  /** Most that `measured` may be. */
  readonly target: number;
}

export type Case = (lab: Lab) => Promise<Finding>;

export function isKept({ measured, target }: Check): boolean {
  return measured <= target;
}
