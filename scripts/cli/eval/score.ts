/** Adds up grades. */
import { KINDS, type Kind, type Question } from "./exam.ts";
import type { Grade } from "./judge.ts";

export interface Score {
  /** Share of the weights, from -0.5 to 1. */
  readonly score: number;
  readonly byKind: Readonly<Partial<Record<Kind, number>>>;
  /** Answers that somebody would have believed wrongly. */
  readonly wrong: number;
  readonly unknown: number;
}

export interface Graded {
  readonly question: Question;
  readonly answer: string;
  readonly grade: Grade;
}

export function scoreOf(graded: readonly Graded[]): Score {
  const byKind = KINDS.flatMap((kind): [Kind, number][] => {
    const own = graded.filter(({ question }) => question.kind === kind);
    return own.length === 0 ? [] : [[kind, shareOf(own)]];
  });
  return {
    score: shareOf(graded),
    byKind: Object.fromEntries(byKind),
    wrong: graded.filter(({ grade }) => grade < 0).length,
    unknown: graded.filter(({ grade }) => grade === 0).length,
  };
}

/** The mean of several sessions, each of which counts the same. Kinds are meant over the sessions that ask for them. */
export function meanScore(scores: readonly Score[]): Score {
  const sum = (pick: (one: Score) => number): number => scores.reduce((total, one) => total + pick(one), 0);
  const byKind = KINDS.flatMap((kind): [Kind, number][] => {
    const own = scores.flatMap((each) => each.byKind[kind] ?? []);
    return own.length === 0 ? [] : [[kind, own.reduce((total, one) => total + one, 0) / own.length]];
  });
  return {
    score: scores.length === 0 ? 0 : sum(({ score }) => score) / scores.length,
    byKind: Object.fromEntries(byKind),
    wrong: sum(({ wrong }) => wrong),
    unknown: sum(({ unknown }) => unknown),
  };
}

function shareOf(graded: readonly Graded[]): number {
  const weights = graded.reduce((sum, { question }) => sum + question.weight, 0);
  return weights === 0 ? 0 : graded.reduce((sum, { question, grade }) => sum + question.weight * grade, 0) / weights;
}
