/**
 * Measures how many of a span's facts a text still contains.
 *
 * The text that replaces a span (summary and pinned facts) and the span's facts in, a score out. Scores are comparable
 * between runs, because the same text and facts always give the same score. A fact is weighted by the cost of its loss.
 */
import { prohibits } from "./rules/prohibitions.ts";
import type { Fact, Facts, PinnedFact } from "./fact.ts";
import { contentWords } from "./rules/rules-in-force.ts";
import { contains } from "./contains.ts";
import { heatOf } from "./names/table.ts";

/** Most names that a survival score considers, the most valuable ones first. A summary is no index and need not hold the rest. */
const MAX_SCORED_NAMES = 60;

/** Most facts listed in a report of a summary's losses. Nobody reads more. */
const MAX_MISSING_FACTS = 20;

export interface Survival {
  /**
   * From 0 (no fact is kept) to 1 (all are kept). Rules weigh half, names three tenths, open items the rest. 1 without
   * facts.
   */
  readonly score: number;
  /** The most important first, at most `MAX_MISSING_FACTS`. */
  readonly missing: readonly PinnedFact[];
}

/** One part of the score: its share, its facts with their weights, and the test for them. */
interface ScorePart {
  readonly share: number;
  readonly facts: readonly Weighed[];
  readonly says: (fact: PinnedFact) => boolean;
}

interface Weighed extends PinnedFact {
  readonly weight: number;
}

/** A prohibition counts as this many wishes. */
const PROHIBITION = 2;
/** The share of a sentence's words that a sentence of the text must contain to say the same. */
const SAME_WORDS = 0.8;

/**
 * Scores how much of `facts` the text contains. Names count word for word. Sentences also count when one sentence of
 * the text has nearly all their words.
 */
export function scoreSurvival(text: string, facts: Facts): Survival {
  const says = contains(text);
  let sentences: readonly ReadSentence[] | null = null;
  // Most texts have each fact word for word, and are never cut into sentences.
  const saysSentence = ({ value }: PinnedFact): boolean =>
    says(value) || saysTheSame((sentences ??= sentencesOf(text)), value);
  const parts: readonly ScorePart[] = [
    {
      share: 0.5,
      facts: facts.rules
        .toReversed()
        .map((rule) => ({ ...rule, weight: weighRule(rule) }))
        .toSorted((one, other) => other.weight - one.weight),
      says: saysSentence,
    },
    {
      share: 0.2,
      facts: [...facts.tasks, ...facts.failures].map((open) => ({ ...open, weight: 1 })),
      says: saysSentence,
    },
    {
      share: 0.3,
      facts: facts.words.rows
        .map((row) => ({ kind: "name" as const, value: row[0], messageId: "", weight: heatOf(row) }))
        .toSorted((one, other) => other.weight - one.weight)
        .slice(0, MAX_SCORED_NAMES),
      says: ({ value }) => says(value),
    },
  ];
  return addUp(parts);
}

function addUp(parts: readonly ScorePart[]): Survival {
  const missing: PinnedFact[] = [];
  let kept = 0;
  let all = 0;
  for (const { share, facts, says } of parts) {
    const total = facts.reduce((sum, { weight }) => sum + weight, 0);
    if (total === 0) continue;
    all += share;
    for (const fact of facts) {
      const { kind, value, messageId } = fact;
      if (says(fact)) kept += (share * fact.weight) / total;
      else if (missing.length < MAX_MISSING_FACTS) missing.push({ kind, value, messageId });
    }
  }
  return { score: all === 0 ? 1 : Math.min(1, kept / all), missing };
}

function weighRule({ value }: Fact): number {
  return prohibits(value) ? PROHIBITION : 1;
}

/** A sentence of the text. */
interface ReadSentence {
  readonly words: ReadonlySet<string>;
  readonly forbids: boolean;
}

function sentencesOf(text: string): readonly ReadSentence[] {
  return text.split(/\n|(?<=[.!?;])\s/).map((each) => ({ words: contentWords(each), forbids: prohibits(each) }));
}

/** Only a sentence that forbids can say the same as a prohibition. */
function saysTheSame(sentences: readonly ReadSentence[], rule: string): boolean {
  const wanted = [...contentWords(rule)];
  if (wanted.length < 2) return false;
  const forbids = prohibits(rule);
  return sentences.some(
    (each) =>
      (each.forbids || !forbids) && wanted.filter((word) => each.words.has(word)).length / wanted.length >= SAME_WORDS,
  );
}
