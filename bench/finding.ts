/** What a case tells. Knows of no lab, so that who only reads findings need not either. */
import type { Plot } from "./plot.ts";

/** A number that was taken several times. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export type Cell = string | number | Spread;

export interface Table {
  /** What it shows, where a finding has several. */
  readonly caption?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface Finding {
  readonly title: string;
  /** What was done, in a sentence or two; of several, the others are what a reader of the tables has to know, a point each. */
  readonly about: string | readonly string[];
  readonly tables: readonly Table[];
  readonly checks: readonly Check[];
  /** Pictures for those who look rather than read. */
  readonly plots?: readonly Plot[];
  /** Pages of the documentation that are made of what was measured, whole. */
  readonly pages?: readonly Page[];
  /** What a reader may think is measured here, and is not. */
  readonly unmeasured?: readonly string[];
}

export interface Page {
  /** Within docs/. */
  readonly file: string;
  readonly text: string;
}

/** A promise, and the number that keeps or breaks it. */
export interface Check {
  readonly claim: string;
  readonly measured: number;
  /** What `measured` may be at most; where the larger number is the better one, at least. */
  readonly target: number;
  readonly better?: "less" | "more";
  /** It holds no time: where a case is measured twice, the worse of both is judged, and not their mean. */
  readonly exact?: boolean;
}

export function isKept({ measured, target, better }: Check): boolean {
  return better === "more" ? measured >= target : measured <= target;
}
