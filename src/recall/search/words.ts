/**
 * Converts texts and queries into the form of the full-text index, for messages (search.ts) and for context blocks.
 *
 * Scripts without spaces between words are indexed character by character, and a run of them is searched as a phrase.
 * So any part of a longer run is found. Every term is quoted, so nothing in a query is an operator and no query is
 * malformed.
 */
import { MAX_QUERY_TERMS } from "../../limits.ts";
import type { Ask } from "../steps/asked.ts";
import { formsOfText, isUnspaced, languageOf, spellingsOf } from "../steps/stems.ts";
import { utf8Length } from "../../memory/messages/content.ts";

/** Most words of one phrase that must be adjacent, counted from its start. In a script without spaces, each character is a word. */
export const MAX_PHRASE_WORDS = 128;

/**
 * Most bytes of one message in the search index, half of the platform's 2 MB for a value. A longer text is cut, but keeps at least this
 * many characters.
 */
export const SEARCH_MAX_BYTES = 1_000_000;
const SEARCH_LEAST_CHARS = 1_000;

/** Characters of a query that are read. A search asks for words, not for a document. */
const MAX_QUERY_CHARS = 2_000;

/** Most characters of distinct word forms of one message, some 60,000 words. That is more than a megabyte of prose has. */
const SEARCH_FORMS_CHARS = 400_000;

/** Separates characters of unspaced scripts. It is invisible, nobody writes it, and the index treats it as a word break. */
const GAP = "\u2063";

/** Scripts that write words without spaces, or attach endings to them. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const CHARACTER_EDGE = new RegExp(`(?<![${UNSPACED}])(?=[${UNSPACED}])|(?<=[${UNSPACED}])`, "gu");

/**
 * The indexed form of a text. Characters that SQLite cannot keep (NUL, lone surrogates) separate words. Variants that
 * differ only in looks (half-width kana, full-width letters, ligatures) become the plain characters.
 */
export function indexWords(text: string): string {
  return text.toWellFormed().replaceAll("\0", " ").normalize("NFKC").replaceAll(CHARACTER_EDGE, GAP);
}

/** The indexed form of a message. */
export interface Indexed {
  readonly words: string;
  /** Its words reduced to a form that matches their other forms, each once (recall/steps/stems.ts). */
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
    for (const form of [...formsOfText(text, language), ...spellingsOf(text).map(language.stem)]) {
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

/** The least letters that a word and its form must share to be searched by them. */
const LEAST_COMMON = 3;

/** A word or phrase of a query, in the form of {@link indexWords}. */
export interface Term {
  readonly text: string;
  /** Whether the word in the text may be longer. */
  readonly isBeginning: boolean;
}

/**
 * The words, `begin*` and `"some phrase"` of a query. Reads its first 2,000 characters and returns at most 32 different
 * terms, with at most 128 words of a phrase. Empty when the query has no letter and no digit.
 */
export function queryTerms(query: string): Term[] {
  const terms = new Map<string, Term>();
  for (const [, phrase, star, word] of query.slice(0, MAX_QUERY_CHARS).matchAll(/"([^"]*)"?(\*?)|([^\s"]+)/g)) {
    const text = firstWords(indexWords(phrase ?? word?.replace(/\*+$/, "") ?? ""));
    const isBeginning = star === "*" || word?.endsWith("*") === true;
    if (/[\p{L}\p{N}]/u.test(text)) terms.set(`${text.toLowerCase()}${isBeginning ? "*" : ""}`, { text, isBeginning });
  }
  return [...terms.values()].slice(0, MAX_QUERY_TERMS);
}

function firstWords(text: string): string {
  const next = [...text.matchAll(/[\p{L}\p{N}\p{Co}]+/gu)][MAX_PHRASE_WORDS];
  return next === undefined ? text : text.slice(0, next.index);
}

/** The query in FTS5 syntax. Every term must occur as written. Empty when there is none. */
export function matchExpression(query: string): string {
  const terms = queryTerms(query).map(({ text, isBeginning }) => `"${text}"${isBeginning ? " *" : ""}`);
  return terms.join(" ");
}

/**
 * One ask in FTS5 syntax. A word is also found as it is written, because a text is stemmed in its language and a
 * question in another. A topic has forms alone.
 */
export function askExpression({ word, forms, isPair, phrase }: Ask): string {
  if (phrase === null && !isPair) {
    const anyForm = `forms : (${forms.map((form) => `"${form}"`).join(" OR ")})`;
    return word === "" ? anyForm : `(${anyForm}) OR (words : "${word}")`;
  }
  const { text, isBeginning } = phrase ?? { text: forms[0] ?? "", isBeginning: false };
  return `words : "${firstWords(indexWords(text)).replaceAll('"', " ")}"${isBeginning ? " *" : ""}`;
}

/** The term that a snippet highlights for an ask. For a word asked in any form it is the beginning that the forms share. */
export function snippetTerm({ word, forms, isPair, phrase }: Ask): Term {
  if (phrase !== null || isPair)
    return { text: indexWords(phrase?.text ?? word), isBeginning: phrase?.isBeginning === true };
  const common = Array.from(word).findIndex((letter, at) => forms[0]?.charAt(at) !== letter);
  return common < LEAST_COMMON
    ? { text: word, isBeginning: common !== -1 }
    : { text: word.slice(0, common), isBeginning: true };
}
