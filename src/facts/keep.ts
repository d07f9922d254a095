/**
 * Chooses the pinned facts beside a summary, and measures how much of the source both keep.
 *
 * A text, facts and budgets in, a choice and its score out. There are two separate budgets. Facts in force have their
 * own, and names take what the summaries of a view leave of theirs.
 */
import { SUMMARY_FRAME_TOKENS } from "../limits.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import { chooseWords, NO_TALK, type NamesBudget, type Talk, type Weights } from "./names/choose.ts";
import type { Words } from "./names/table.ts";
import { containsWord, wordsIn } from "./words.ts";
import { NO_FACTS, type Facts, type Pinned } from "./fact.ts";
import type { Loaded } from "./loaded.ts";
import { mergeFacts } from "./merge.ts";
import { pickInForce } from "./pick.ts";
import { pickLoaded } from "./loaded/pick-loaded.ts";
import { LABELLED_CHARS, LABELS_CHARS, NAMES_HEADING, renderInForce, renderNames, renderPinned } from "./render.ts";
import { contains } from "./contains.ts";
import { scoreSurvival, type Survival } from "./survival.ts";

/** The parts of a view around one summary. */
export interface Around {
  /** The facts of the messages that earlier summaries of the view hide, oldest first. */
  readonly hidden: readonly Facts[];
  /** The words of the messages that stay, with their weight. */
  readonly talk: Talk;
  /** True for a word that the view shows anyway. */
  readonly shows: (word: string) => boolean;
  /** True for a request that stands as a rule beside an earlier summary. */
  readonly ruled: (request: string) => boolean;
  /** What earlier tasks are about that the messages after the hidden ones settle. */
  readonly settled: ReadonlySet<string | undefined>;
  /** Marks of the texts loaded in the messages that stay. They are newer than hidden ones. */
  readonly loaded: readonly Loaded[];
  /** How names are weighed. By default as everywhere. */
  readonly weights?: Weights | undefined;
}

export const NOTHING_AROUND: Around = {
  hidden: [],
  talk: NO_TALK,
  shows: () => false,
  ruled: () => false,
  settled: new Set(),
  loaded: [],
};

/** The budgets beside a summary, and what is around it. */
export interface KeepBudget {
  /** Token budget of the facts in force. */
  readonly pinnedTokens: number;
  /** Token budget of loaded texts. Default: 0. */
  readonly loadedTokens?: number | undefined;
  /** Token budget of the names. */
  readonly namesTokens: number;
  /** Most that the names may take by `countTokens`, as a multiple of their budget. Default: {@link MOST_COUNTED}. */
  readonly mostCounted?: number | undefined;
  readonly countTokens: CountTokens;
  /** The size of the span that the summary and its facts replace. Default: without bound. */
  readonly spanTokens?: number | undefined;
  readonly around?: Around;
}

/**
 * Pins the facts in force, and the names that the reader does not see otherwise, within the budgets. Scores the result.
 *
 * What is pinned does not make an overlay larger than its span (V3). Rules are never left out for that. Where they are too large, the overlay
 * does not shrink the view, and the commit fence refuses it as larger.
 */
export function keepFacts(
  summary: string,
  facts: Facts,
  { spanTokens = Infinity, around = NOTHING_AROUND, mostCounted = MOST_COUNTED, ...budget }: KeepBudget,
): { pinned: Pinned; survival: Survival } {
  const { pinnedTokens, loadedTokens = 0, namesTokens, countTokens } = budget;
  const mostTokens = spanTokens - countTokens(summary) - SUMMARY_FRAME_TOKENS;
  const rules = pickInForce({ ...NO_FACTS, rules: facts.rules }, { budgetTokens: pinnedTokens, countTokens });
  const least = countTokens(renderInForce(rules));
  const hidden = mergeFacts([...around.hidden, facts]);
  const picked = pickInForce(openFacts(facts, hidden, around), {
    budgetTokens: Math.max(least, Math.min(pinnedTokens, mostTokens)),
    countTokens,
    omit: contains(summary),
  });
  // Facts in force rarely take all of their budget, and in a short span the rest is left for what was loaded.
  const left = mostTokens - countTokens(renderInForce(picked));
  const loadedBudget = Math.max(0, Math.min(loadedTokens, left - Math.min(namesTokens, Math.floor(mostTokens / 4))));
  const loaded = pickLoaded(hidden.loaded, { budgetTokens: loadedBudget, countTokens, omit: around.loaded });
  const inForce = { ...picked, loaded };
  const said = containsWord(wordsIn(`${summary}\n${renderInForce(inForce)}`));
  const names = pickNames(hidden.words, {
    budgetTokens: Math.min(namesTokens, left - loadedBudget),
    mostCounted,
    countTokens,
    talk: around.talk,
    isShown: (word) => said(word) || around.shows(word),
    weights: around.weights,
  });
  const pinned = { ...inForce, names };
  return {
    pinned,
    /** Scored once it is read, because a commit only needs the choice. */
    get survival() {
      return scoreSurvival(`${summary}\n${renderPinned(pinned)}`, openFacts(facts, facts, around));
    },
  };
}

/** The rules of `facts`, and what is still open of everything hidden. */
function openFacts(
  facts: Facts,
  { tasks, failures, changed }: Pick<Facts, "tasks" | "failures" | "changed">,
  { settled, ruled }: Around,
): Facts {
  return {
    ...facts,
    tasks: tasks.filter(({ about, value }) => !settled.has(about) && !ruled(value)),
    failures,
    changed,
  };
}

/**
 * Characters counted as one token of names, with any token counter. Estimates count long numbers and ids far higher
 * than tokenizers do.
 */
export const NAME_CHARS_PER_TOKEN = 3.3;
/** Characters of the sentence that frames a shown summary, with the blank lines around it. */
const FRAME_CHARS = 35;

/** Tokens that a shown summary takes of the budget that it shares with names. */
export function tokensOfSummary(text: string): number {
  return Math.ceil((text.length + FRAME_CHARS) / NAME_CHARS_PER_TOKEN);
}

/** By the session's own counter, names may take at most this multiple of their budget. */
export const MOST_COUNTED = 2;
/** Most tries to meet that limit. Each try comes close to it. */
const TRIES = 5;

/** The names that fit the budget as they are shown. */
function pickNames(
  words: Words,
  {
    budgetTokens,
    mostCounted,
    countTokens,
    ...budget
  }: { budgetTokens: number; mostCounted: number; countTokens: CountTokens } & Omit<NamesBudget, "characters">,
): readonly string[] {
  const most = budgetTokens * mostCounted;
  let characters = budgetTokens * NAME_CHARS_PER_TOKEN - NAMES_HEADING.length - 1;
  if (characters >= LABELLED_CHARS) characters -= LABELS_CHARS;
  for (let at = 0; at < TRIES && characters > 0; at++) {
    const names = chooseWords(words, { ...budget, characters });
    const shown = renderNames(names);
    const counted = countTokens(shown);
    if (counted <= most) return names;
    // There may be fewer names than fit, so the next try starts from what they take.
    characters = Math.min(characters, shown.length - NAMES_HEADING.length) * Math.min(0.98, most / counted);
  }
  return [];
}
