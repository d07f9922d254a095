/** The result of a case. Imports nothing of the lab, so that readers of findings do not load it. */
import type { Plot } from "./plot.ts";

/** A number that was measured several times. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export type Cell = string | number | Spread;

export interface Table {
  /** Names the table where a finding has several. */
  readonly caption?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface Finding {
  readonly title: string;
  /** The method in a sentence or two. Further entries tell a reader of the tables more, one point each. */
  readonly about: string | readonly string[];
  readonly tables: readonly Table[];
  readonly checks: readonly Check[];
  /** Pictures of the same figures. */
  readonly plots?: readonly Plot[];
  /** Whole pages of the documentation that are made from these figures. */
  readonly pages?: readonly Page[];
  /** Things that a reader may think are measured here, but are not. */
  readonly unmeasured?: readonly string[];
}

export interface Page {
  /** The path within docs/. */
  readonly file: string;
  readonly text: string;
}

/** A promise, and the number that keeps or breaks it. */
export interface Check {
  readonly claim: string;
  readonly measured: number;
  /** Most that `measured` may be. Least where larger is better. */
  readonly target: number;
  readonly better?: "less" | "more";
  /** True when the number holds no time. Of two measurements the worse one is judged, not their mean. */
  readonly exact?: boolean;
}

export function isKept({ measured, target, better }: Check): boolean {
  return better === "more" ? measured >= target : measured <= target;
}
