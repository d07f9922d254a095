/**
 * What stands beside a summary, and what the two of them together keep of the source.
 *
 * Boundary: a text, facts and budgets in, a choice and its score out. Two budgets, never mixed: what is still in force has its
 * own, and names take what the summaries of a view leave of theirs.
 */
import { SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../message/measure.ts";
import { chooseWords, NO_TALK, type Talk } from "../salience/choose.ts";
import { mergeWords, type Words } from "../salience/table.ts";
import { wordsIn } from "../salience/words.ts";
import { NO_FACTS, type Facts, type Pinned } from "./fact.ts";
import { mergeAllLoaded } from "./merge.ts";
import { pickInForce } from "./pick.ts";
import { pickLoaded } from "./pick-loaded.ts";
import { NAMES_HEADING, renderInForce, renderNames, renderPinned } from "./render.ts";
import { sayingIn } from "./said.ts";
import { scoreSurvival, type Survival } from "./survival.ts";

/** What a view shows and hides beside one summary. */
export interface Around {
  /** What earlier summaries of the view hide, oldest first. */
  readonly hidden: readonly Facts[];
  /** What is talked of in the messages that stay. */
  readonly talk: Talk;
  /** True for a word that the view shows anyway. */
  readonly shows: (word: string) => boolean;
  /** What was loaded in the messages that stay, by its key: it is newer than what is hidden. */
  readonly loaded: ReadonlySet<string>;
}

export const NOTHING_AROUND: Around = { hidden: [], talk: NO_TALK, shows: () => false, loaded: new Set() };

export interface KeepBudget {
  /** Of what is still in force. */
  readonly pinnedTokens: number;
  /** Of what was loaded. Default: 0. */
  readonly loadedTokens?: number | undefined;
  /** Of the names. */
  readonly namesTokens: number;
  readonly countTokens: CountTokens;
}

/** Pins what is in force and the names that the reader does not see anyway, within the budgets, and scores the whole. */
export function keepFacts(
  summary: string,
  facts: Facts,
  {
    pinnedTokens,
    loadedTokens = 0,
    namesTokens,
    countTokens,
    around = NOTHING_AROUND,
  }: KeepBudget & { readonly around?: Around },
): { pinned: Pinned; survival: Survival } {
  const all = [...around.hidden, facts];
  const inForce = {
    ...pickInForce(facts, { budgetTokens: pinnedTokens, countTokens, omit: sayingIn(summary) }),
    loaded: pickLoaded(mergeAllLoaded(all), { budgetTokens: loadedTokens, countTokens, omit: around.loaded }),
  };
  const said = sayingWords(`${summary}\n${renderInForce(inForce)}`);
  const isShown = (word: string): boolean => said(word) || around.shows(word);
  const names = pickNames(mergeWords(all.map(({ words }) => words)), {
    budgetTokens: namesTokens,
    countTokens,
    talk: around.talk,
    isShown,
  });
  const pinned = { ...inForce, names };
  return { pinned, survival: scoreSurvival(`${summary}\n${renderPinned(pinned)}`, facts) };
}

/** What may stand beside a summary, and the size of what both replace. */
export interface PinBudget extends KeepBudget {
  readonly spanTokens: number;
  readonly around?: Around;
}

/**
 * As {@link keepFacts}, so that what is pinned does not make an overlay larger than the span it replaces (V3). Rules are not
 * left out for that: an overlay that has no room for them does not shrink the view, and the fence says so.
 */
export function pinWithin(
  summary: string,
  facts: Facts,
  { spanTokens, pinnedTokens, loadedTokens = 0, namesTokens, countTokens, around = NOTHING_AROUND }: PinBudget,
): { pinned: Pinned; survival: Survival } {
  const room = spanTokens - countTokens(summary) - SUMMARY_FRAME_TOKENS;
  const rules = pickInForce({ ...NO_FACTS, rules: facts.rules }, { budgetTokens: pinnedTokens, countTokens });
  const least = countTokens(renderInForce(rules));
  const inForce = Math.max(least, Math.min(pinnedTokens, room));
  const loaded = Math.max(0, Math.min(loadedTokens, room - inForce - Math.min(namesTokens, Math.floor(room / 4))));
  const names = Math.min(namesTokens, room - inForce - loaded);
  return keepFacts(summary, facts, {
    pinnedTokens: inForce,
    loadedTokens: loaded,
    namesTokens: names,
    countTokens,
    around,
  });
}

/**
 * Characters that are taken for a token of names, whatever a session counts with: estimates read long numbers and ids far higher
 * than tokenizers do.
 */
export const NAME_CHARS_PER_TOKEN = 3.3;
/** By the session's counter, names take at most this many times their budget. */
export const MOST_COUNTED = 2;
/** Tries until they do: each one comes close to it. */
const TRIES = 5;

/** The names that fit the budget as they are shown. */
function pickNames(
  words: Words,
  {
    budgetTokens,
    countTokens,
    ...room
  }: { budgetTokens: number; countTokens: CountTokens; talk: Talk; isShown: (word: string) => boolean },
): readonly string[] {
  let characters = budgetTokens * NAME_CHARS_PER_TOKEN - NAMES_HEADING.length - 1;
  for (let at = 0; at < TRIES && characters > 0; at++) {
    const names = chooseWords(words, { ...room, characters });
    const counted = countTokens(renderNames(names));
    if (counted <= budgetTokens * MOST_COUNTED) return names;
    characters *= Math.min(0.98, (budgetTokens * MOST_COUNTED) / counted);
  }
  return [];
}

/** A question to a text: does one of its words hold this one? */
export function sayingWords(text: string): (word: string) => boolean {
  const words = [...new Set(wordsIn(text))].join("\n");
  return (word) => words.includes(word);
}
