/** What readers still knew, as it was measured and stored. The sessions are other people's, so numbers alone are kept here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const KINDS = ["rule", "decision", "state", "failure", "fact", "id"] as const;
type Kind = (typeof KINDS)[number];

/** Whether the prompts and limits were chosen on a session, or only shown on it. */
export type Use = "choose" | "show";

/** One session in one store. */
export interface Play {
  readonly session: string;
  readonly threshold: number;
  readonly set: Use;
  /** ISO 8601. */
  readonly date: string;
  /** One of the keys of {@link Scores.arms}. */
  readonly arm: string;
  readonly viewTokens?: number;
  readonly compactions?: number;
  /** Calls of the summariser, and its tokens by our estimate of what it was sent and wrote. */
  readonly calls?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

export interface Score extends Play {
  readonly questions: number;
  /** Share of the weights of all questions. */
  readonly score: number;
  /** Answers that somebody would have acted upon wrongly. */
  readonly wrong: number;
  readonly byKind?: Readonly<Partial<Record<Kind, number>>>;
}

/** Means over the sessions of one use that were measured on one day. */
export type KindMeans = Readonly<Record<Kind, number>> & Pick<Score, "arm" | "set" | "date">;

export interface Scores {
  /** What was measured, by name: a commit, a version, or what it keeps. */
  readonly arms: Readonly<Record<string, string>>;
  readonly scores: readonly Score[];
  /** Sessions that nobody took an exam on. */
  readonly plays: readonly Play[];
  readonly byKind: readonly KindMeans[];
  /** What the plays did not leave, in words. */
  readonly notRecorded: readonly string[];
}

export function readScores(): Scores {
  return JSON.parse(readFileSync(join(import.meta.dirname, "scores.json"), "utf8")) as Scores;
}

export interface Mean {
  readonly arm: string;
  readonly set: Use;
  readonly date: string;
  readonly sessions: number;
  readonly questions: number;
  readonly score: number;
  readonly least: number;
  readonly wrong: number;
  /** Sums of all sessions. Null where one of them was not recorded. */
  readonly viewTokens: number | null;
  readonly calls: number | null;
  readonly inputTokens: number | null;
}

/** A mean for each arm, use and day. Each session counts the same. */
export function meansOf(scores: readonly Score[]): Mean[] {
  const groups = Map.groupBy(scores, ({ arm, set, date }) => JSON.stringify([set, arm, date]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { arm, set, date } = first;
    const sum = (pick: (one: Score) => number): number => group.reduce((total, one) => total + pick(one), 0);
    const all = (field: "viewTokens" | "calls" | "inputTokens"): number | null =>
      group.some((one) => one[field] === undefined) ? null : sum((one) => one[field] ?? 0);
    return [
      {
        arm,
        set,
        date,
        sessions: group.length,
        questions: sum(({ questions }) => questions),
        score: sum(({ score }) => score) / group.length,
        least: Math.min(...group.map(({ score }) => score)),
        wrong: sum(({ wrong }) => wrong),
        viewTokens: all("viewTokens"),
        calls: all("calls"),
        inputTokens: all("inputTokens"),
      },
    ];
  });
}
