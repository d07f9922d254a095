/**
 * The text of the full-text index: what a message is indexed as, an ask in FTS5's syntax, and the part of a text that a hit shows.
 *
 * Scripts without spaces between words are indexed character by character, and a run of them is searched as a phrase.
 * So any part of a longer run is found. Every term is quoted, so nothing in a query is an operator and no query is
 * malformed.
 */
import { normalForm } from "../steps/text/text.ts";
import { utf8Length } from "../memory/messages/content.ts";
import { readQuestion, type Ask, formsOfText, isUnspaced, languageOf, UNSPACED } from "./question.ts";

/** Most words of one phrase that must be adjacent, counted from its start. In a script without spaces, each character is a word. */
export const MAX_PHRASE_WORDS = 128;

/**
 * Most bytes of one message in the search index, half of the platform's 2 MB for a value. A longer text is cut, but keeps at least this
 * many characters.
 */
export const SEARCH_MAX_BYTES = 1_000_000;
const SEARCH_LEAST_CHARS = 1_000;

/** Most characters of distinct word forms of one message, some 60,000 words. That is more than a megabyte of prose has. */
const SEARCH_FORMS_CHARS = 400_000;

/** Separates characters of unspaced scripts. It is invisible, nobody writes it, and the index treats it as a word break. */
const GAP = "\u2063";

const CHARACTER_EDGE = new RegExp(`(?<![${UNSPACED}])(?=[${UNSPACED}])|(?<=[${UNSPACED}])`, "gu");

/**
 * The indexed form of a text. Characters that SQLite cannot keep (NUL, lone surrogates) separate words. Variants that
 * differ only in looks (half-width kana, full-width letters, ligatures) become the plain characters.
 */
export function indexWords(text: string): string {
  return normalForm(text.toWellFormed().replaceAll("\0", " "), "NFKC").replaceAll(CHARACTER_EDGE, GAP);
}

/** The indexed form of a message. */
export interface Indexed {
  readonly words: string;
  /** Its words reduced to a form that matches their other forms, each once (src/recall/question.ts). */
  readonly forms: string;
  /** True when the message was too long to be indexed whole. */
  readonly partial: boolean;
}

/**
 * The texts of a message in the form of {@link indexWords}, within the bytes of one index row. If they do not fit, the
 * longest texts are cut. Short texts stay whole. A long one keeps its beginning and its end, because the end tells the
 * result.
 */
export function fitWords(texts: readonly string[]): Indexed {
  const chars = texts.reduce((sum, { length }) => sum + length + 1, 0);
  for (let budget = Math.min(chars, SEARCH_MAX_BYTES); ;) {
    const partial = budget < chars;
    const given = partial ? cutLongest(texts, budget) : texts;
    const words = indexWords(given.join("\n"));
    const bytes = utf8Length(words);
    if (bytes <= SEARCH_MAX_BYTES) return { words, forms: indexForms(given), partial };
    // Some scripts take several bytes per character, plus the marks between them.
    budget = Math.floor((budget * SEARCH_MAX_BYTES) / (bytes + 1));
  }
}

/** The distinct word forms. When there are too many, the first ones are kept. The words themselves are indexed anyway. */
function indexForms(texts: readonly string[]): string {
  const forms = new Set<string>();
  let budget = SEARCH_FORMS_CHARS;
  for (const text of texts) {
    const language = languageOf(text);
    for (const form of formsOfText(text, language)) {
      // For a script without spaces the characters are indexed instead.
      if (forms.has(form) || isUnspaced(form)) continue;
      budget -= form.length + 1;
      if (budget < 0) return [...forms].join(" ");
      forms.add(form);
    }
  }
  return [...forms].join(" ");
}

/** Cuts the texts to a total of `chars`. Every text keeps up to the length at which all of them fit. */
function cutLongest(texts: readonly string[], chars: number): string[] {
  let [budget, left] = [chars, chars];
  let most = 0;
  for (const [at, length] of texts
    .map((text) => text.length + 1)
    .toSorted((a, b) => a - b)
    .entries()) {
    most = Math.floor(left / (texts.length - at));
    if (length > most) break;
    left -= length;
  }
  const each = Math.max(most - 1, SEARCH_LEAST_CHARS);
  // Of very many texts, the first ones are kept.
  const cut: string[] = [];
  for (const text of texts.map((text) => cutMiddle(text, each))) {
    if (budget < 0) break;
    cut.push(text.slice(0, budget));
    budget -= text.length + 1;
  }
  return cut;
}

function cutMiddle(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const end = Math.floor(chars / 3);
  return `${text.slice(0, chars - end - 1)}\n${text.slice(text.length - end)}`;
}

/** A piece of an indexed text as it was before {@link indexWords}. */
export function readableWords(words: string): string {
  return words.replaceAll(GAP, "");
}

/** A word or phrase of a query, and whether its last word may be longer in the text. */
interface Term {
  readonly text: string;
  readonly isBeginning: boolean;
}

function quoted({ text, isBeginning }: Term): string {
  const words = indexWords(text).replaceAll('"', " ");
  const next = [...words.matchAll(/[\p{L}\p{N}\p{Co}]+/gu)][MAX_PHRASE_WORDS];
  return `"${next === undefined ? words : words.slice(0, next.index)}"${isBeginning ? " *" : ""}`;
}

/**
 * One ask in FTS5 syntax. A word is also found as it is written, because a text is stemmed in its language and a
 * question in another. A topic has forms alone.
 */
export function askExpression({ word, forms, isPair, phrase }: Ask): string {
  if (phrase !== null || isPair) return `words : ${quoted(phrase ?? { text: word, isBeginning: false })}`;
  const anyForm = `forms : (${forms.map((form) => `"${form}"`).join(" OR ")})`;
  return word === "" ? anyForm : `(${anyForm}) OR (words : "${word}")`;
}

/** The words of a query as they are written, for an index without forms. Empty when the query has no letter and no digit. */
export function matchExpression(query: string): string {
  const { asks } = readQuestion(query);
  return asks.map(({ word, phrase }) => quoted(phrase ?? { text: word, isBeginning: false })).join(" ");
}

/** Words of a phrase by which its place is found, and most places that are compared. The best of so many is good enough. */
const SNIPPET_PHRASE_WORDS = 8;
const SNIPPET_PLACES = 1_000;
/** Characters of a snippet, some 30 words, and how many of them stand before the match. */
const SNIPPET_CHARS = 240;
const SNIPPET_LEAD_CHARS = 80;
/** The least letters that a word and its form must share to be found by them. */
const LEAST_COMMON = 3;

/** Makes snippets for asks, about 240 characters with cuts marked by "…". Without a match a snippet is the text's beginning. */
export function snippetsFor(asks: readonly Ask[]): (words: string) => string {
  const groups = asks.map((ask, at) => `(?<t${at}>${patternOf(shownTerm(ask))})`);
  const pattern = new RegExp(groups.join("|"), "giu");
  return (words) => {
    const text = readableWords(words);
    return cutAround(text, bestPlace(bare(text), { pattern, count: asks.length }));
  };
}

/** What a snippet looks for. For a word asked in any form it is the beginning that the forms share. */
function shownTerm({ word, forms, isPair, phrase }: Ask): Term {
  if (phrase !== null || isPair) return phrase ?? { text: word, isBeginning: true };
  const common = Array.from(word).findIndex((letter, at) => forms[0]?.charAt(at) !== letter);
  return common < LEAST_COMMON
    ? { text: word, isBeginning: common !== -1 }
    : { text: word.slice(0, common), isBeginning: true };
}

function patternOf({ text, isBeginning }: Term): string {
  const tokens = (bare(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).slice(0, SNIPPET_PHRASE_WORDS);
  const words = tokens.join("[^\\p{L}\\p{N}]+");
  return isUnspaced(text) ? words : `(?<![\\p{L}\\p{N}])${words}${isBeginning ? "" : "(?![\\p{L}\\p{N}])"}`;
}

/** The text without accents. It has the same length, so a place in it is one of the text. */
function bare(text: string): string {
  return text.replaceAll(/[\u00c0-\u1eff]/g, (letter) => letter.normalize("NFD").charAt(0));
}

/** Where the first range of a snippet's length begins that has most of the asks. 0 when there is none. */
function bestPlace(text: string, { pattern, count }: { pattern: RegExp; count: number }): number {
  const last = new Map<string, number>();
  let [best, compared] = [{ at: 0, count: 0 }, 0];
  for (const { index, groups = {} } of text.matchAll(pattern)) {
    for (const [term, found] of Object.entries(groups)) if (found !== undefined) last.set(term, index);
    const near = [...last.values()].filter((each) => index - each < SNIPPET_CHARS - SNIPPET_LEAD_CHARS);
    if (near.length > best.count) best = { at: Math.min(...near), count: near.length };
    if (best.count === count || ++compared === SNIPPET_PLACES) break;
  }
  return best.at;
}

/** About 240 characters around a place, without half a word at either end unless nothing else is left. */
function cutAround(text: string, at: number): string {
  const from = Math.max(0, at - SNIPPET_LEAD_CHARS);
  const shown = text.slice(from, from + SNIPPET_CHARS);
  const isOpen = from + SNIPPET_CHARS < text.length;
  const begun = from > 0 ? shown.replace(/^\S{0,20}\s+|^[\udc00-\udfff]/, "") : shown;
  const ended = isOpen ? begun.replace(/\s+\S{0,20}$|[\ud800-\udbff]$/, "") : begun;
  return `${from > 0 ? "…" : ""}${ended === "" ? shown.toWellFormed() : ended}${isOpen ? "…" : ""}`;
}
