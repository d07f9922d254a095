/** Adds up verdicts into shares, the worst compaction and its missing facts. */
import type { Use } from "./conversation.ts";
import { isName, type Judged, type Verdict } from "./verdict.ts";

/** Which facts count. Either names of every kind together, or one kind. */
export type Matter = "names" | Judged["kind"];
export type Way = "view" | "view or recall";

export interface Count {
  readonly reached: number;
  readonly of: number;
}

export interface Counting {
  readonly matter: Matter;
  readonly use: Use;
  readonly way: Way;
}

/** Wanted facts, and how many of them can be reached. Where recall was asked for a sample, the sample's share stands for all. */
export function count({ facts }: Verdict, { matter, use, way }: Counting): Count {
  const wanted = facts.filter((fact) => (matter === "names" ? isName(fact) : fact.kind === matter) && fact.again[use]);
  const inView = wanted.filter((fact) => fact.inView).length;
  if (way === "view") return { reached: inView, of: wanted.length };
  const asked = wanted.filter(({ recalled }) => recalled !== null);
  const found = asked.filter(({ recalled }) => recalled === true).length / Math.max(1, asked.length);
  return { reached: inView + found * (wanted.length - inView), of: wanted.length };
}

/** 1 where nothing was wanted. */
export function shareOf(counts: readonly Count[]): number {
  const sum = (pick: (count: Count) => number): number => counts.reduce((total, each) => total + pick(each), 0);
  const of = sum((each) => each.of);
  return of === 0 ? 1 : sum((each) => each.reached) / of;
}

export interface Worst {
  readonly share: number;
  /** Number of the verdict, counted from 1. */
  readonly at: number;
  /** Facts that could not be reached there, rules before names and in the order of the conversation. */
  readonly missing: readonly Judged[];
}

/** The first verdict with the lowest share of names said again. Null without verdicts. */
export function findWorst(verdicts: readonly Verdict[], use: Use): Worst | null {
  const shares = verdicts.map((verdict) => shareOf([count(verdict, { matter: "names", use, way: "view" })]));
  const share = Math.min(...shares);
  const at = shares.indexOf(share);
  const verdict = verdicts[at];
  if (verdict === undefined) return null;
  const missing = verdict.facts.filter((fact) => fact.kind !== "word" && fact.again[use] && !fact.inView);
  return { share, at: at + 1, missing };
}
