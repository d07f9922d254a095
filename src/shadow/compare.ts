/** Compares shadows with the real summaries beside them: what each would have kept, and what it cost. Arithmetic alone. */
import type { Hindsight } from "../facts/hindsight.ts";
import type { ShadowOutcome, ShadowRow, Spent } from "./record.ts";

/** One summary of a compaction. */
export interface SummaryScore extends Spent {
  /** Null where no model was asked. */
  readonly model: string | null;
  /** Estimated tokens as a view shows it, or would show it. Null without a summary. */
  readonly tokens: number | null;
  /** What came of the names that the view hid. Null while it is not known, and without a summary. */
  readonly hindsight: Hindsight | null;
}

/** A shadow of one compaction. An `outcome` of null says that it is not done. */
export interface ShadowScore extends SummaryScore {
  /** The name of the shadow. */
  readonly name: string;
  readonly outcome: ShadowOutcome | null;
}

/** One compaction that had shadows. */
export interface ShadowedCompaction {
  /** The real summary. */
  readonly overlayId: string;
  /** The number of its overlay. The session's first is 1. */
  readonly n: number;
  /** When the first of its shadows began (epoch ms). */
  readonly createdAt: number;
  /** What the real summary scored. */
  readonly real: SummaryScore;
  /** What each shadow scored. */
  readonly shadows: readonly ShadowScore[];
}

/** Sums over the compactions of one shadow. */
export interface ShadowSum extends Spent {
  /** Names that were in view, were recalled, and were missed, over the compactions that are compared. */
  readonly inView: number;
  readonly recalled: number;
  readonly missed: number;
  /** Tokens of the summaries that are compared. */
  readonly tokens: number;
}

/** A shadow beside the real summaries. */
export interface ShadowTotals {
  /** The name of the shadow. */
  readonly name: string;
  /** Compactions for which it was tried. Calls and tokens count all of them. */
  readonly compactions: number;
  /** Those for which it has a summary. */
  readonly kept: number;
  /** Those of which both counts are known. Names count these alone. */
  readonly compared: number;
  /** Hidden names that came up again after them. */
  readonly names: number;
  /** Sums of the real summaries. */
  readonly real: ShadowSum;
  /** Sums of the shadow. */
  readonly shadow: ShadowSum;
}

/** Shadows beside the real summaries, in sum and one by one. */
export interface ShadowComparison {
  /** By name. */
  readonly shadows: readonly ShadowTotals[];
  /** The newest compactions that had shadows, newest first. */
  readonly compactions: readonly ShadowedCompaction[];
}

function over<Each>(all: readonly Each[], value: (each: Each) => number): number {
  return all.reduce((total, each) => total + value(each), 0);
}

/** `hindsights` are those of the real summaries, by overlay. */
export function compareRows(
  rows: readonly ShadowRow[],
  hindsights: ReadonlyMap<string, Hindsight | null>,
): ShadowComparison {
  const compactions = [...new Set(rows.map(({ n }) => n))].flatMap((n): ShadowedCompaction[] => {
    const beside = rows.filter((row) => row.n === n);
    const [first] = beside;
    if (first === undefined) return [];
    const { overlayId, record } = first;
    const real = { ...record.real, hindsight: hindsights.get(overlayId) ?? null };
    const createdAt = Math.min(...beside.map((row) => row.record.createdAt));
    return [{ overlayId, n, createdAt, real, shadows: beside.map(scoreOf) }];
  });
  const names = [...new Set(rows.map(({ name }) => name))].toSorted();
  return { shadows: names.map((name) => sumOf(name, compactions)), compactions };
}

function scoreOf({ name, record }: ShadowRow): ShadowScore {
  const { outcome, model, calls, inputTokens, outputTokens, hindsight } = record;
  const tokens = outcome?.kind === "kept" ? outcome.tokens : null;
  return { name, outcome, model, tokens, calls, inputTokens, outputTokens, hindsight };
}

function sumOf(name: string, compactions: readonly ShadowedCompaction[]): ShadowTotals {
  const tried = compactions.flatMap(({ real, shadows }) =>
    shadows.filter((each) => each.name === name).map((shadow) => ({ real, shadow })),
  );
  const compared = tried.filter(({ real, shadow }) => real.hindsight !== null && shadow.hindsight !== null);
  const sum = (which: "real" | "shadow"): ShadowSum => {
    return {
      inView: over(compared, (pair) => pair[which].hindsight?.inView ?? 0),
      recalled: over(compared, (pair) => pair[which].hindsight?.recalled ?? 0),
      missed: over(compared, (pair) => pair[which].hindsight?.missed ?? 0),
      tokens: over(compared, (pair) => pair[which].tokens ?? 0),
      calls: over(tried, (pair) => pair[which].calls),
      inputTokens: over(tried, (pair) => pair[which].inputTokens),
      outputTokens: over(tried, (pair) => pair[which].outputTokens),
    };
  };
  return {
    name,
    compactions: tried.length,
    kept: tried.filter(({ shadow }) => shadow.outcome?.kind === "kept").length,
    compared: compared.length,
    names: over(compared, ({ real }) => real.hindsight?.names ?? 0),
    real: sum("real"),
    shadow: sum("shadow"),
  };
}
