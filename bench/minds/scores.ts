/** What readers still knew, as it was measured and stored. The sessions are other people's, so numbers alone are kept here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const KINDS = ["rule", "decision", "state", "failure", "fact", "id"] as const;
type Kind = (typeof KINDS)[number];

/** Whether the prompts and limits were chosen on a session, or only shown on it. */
export type Use = "choose" | "show";

export interface Score {
  readonly session: string;
  readonly threshold: number;
  readonly set: Use;
  /** ISO 8601. */
  readonly date: string;
  readonly questions: number;
  /** One of the keys of {@link Scores.arms}. */
  readonly arm: string;
  /** Share of the weights of all questions. */
  readonly score: number;
  /** Answers that somebody would have acted upon wrongly. */
  readonly wrong: number;
  readonly viewTokens?: number;
  readonly compactions?: number;
  /** Calls of the summariser, and its tokens. */
  readonly calls?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly byKind?: Readonly<Partial<Record<Kind, number>>>;
}

/** Means over the sessions of one use that were measured on one day. */
export type KindMeans = Readonly<Record<Kind, number>> & Pick<Score, "arm" | "set" | "date">;

export interface Scores {
  /** What was measured, by name: a commit, a version, or what it keeps. */
  readonly arms: Readonly<Record<string, string>>;
  readonly scores: readonly Score[];
  readonly byKind: readonly KindMeans[];
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
}

/** A mean for each arm, use and day. Each session counts the same. */
export function meansOf(scores: readonly Score[]): Mean[] {
  const groups = Map.groupBy(scores, ({ arm, set, date }) => JSON.stringify([set, arm, date]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { arm, set, date } = first;
    const sum = (pick: (one: Score) => number): number => group.reduce((total, one) => total + pick(one), 0);
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
      },
    ];
  });
}
