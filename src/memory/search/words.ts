/**
 * Text and queries in the form that a full-text index keeps and asks for: the messages' (search.ts) and that of context
 * blocks.
 *
 * Scripts that put no space between words are indexed character by character, and a run of them is asked for as a
 * phrase: any part of a longer run is then found. Safe because every term is quoted: nothing in a query is an operator,
 * so none is malformed.
 */
import { MAX_PHRASE_WORDS, MAX_QUERY_TERMS, SEARCH_LEAST_CHARS, SEARCH_MAX_BYTES } from "../../limits.ts";
import type { Ask } from "../../steps/recall/asked.ts";
import { formsOfText, isUnspaced, languageOf } from "../../steps/recall/stems.ts";
import { utf8Length } from "../messages/content.ts";

/** Characters of a query that are looked at: a search asks for words, not for a document. */
const MAX_QUERY_CHARS = 2_000;

/** Characters of the different word forms of one message: some 60,000 words, more than a million bytes of prose have. */
const SEARCH_FORMS_CHARS = 400_000;

/** Put between characters of unspaced scripts: nobody writes it, it parts words for the index, and it shows as nothing. */
const GAP = "\u2063";

/** Scripts whose words run together, or carry their endings with them. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const CHARACTER_EDGE = new RegExp(`(?<![${UNSPACED}])(?=[${UNSPACED}])|(?<=[${UNSPACED}])`, "gu");

/**
 * What the index is given for a text. What SQLite could not keep (NUL, lone surrogates) parts words; of characters that
 * differ in their looks alone (half-width kana, full-width letters, ligatures) it has the plain ones.
 */
export function indexWords(text: string): string {
  return text.toWellFormed().replaceAll("\0", " ").normalize("NFKC").replaceAll(CHARACTER_EDGE, GAP);
}

/** What the index is given for a message. */
export interface Indexed {
  readonly words: string;
  /** Its words in the form in which one finds another, each once (steps/recall/stems.ts). */
  readonly forms: string;
  /** True when it was too long to be given whole. */
  readonly partial: boolean;
}

/**
 * The texts of a message as {@link indexWords} has them, within the bytes that one row of the index may take. Where there are
 * more, the longest texts are cut: what is short is given whole, and of a long one its beginning and its end, which tells what it came to.
 */
export function fitWords(texts: readonly string[]): Indexed {
  const chars = texts.reduce((sum, { length }) => sum + length + 1, 0);
  for (let room = Math.min(chars, SEARCH_MAX_BYTES); ;) {
    const partial = room < chars;
    const given = partial ? cutLongest(texts, room) : texts;
    const words = indexWords(given.join("\n"));
    const bytes = utf8Length(words);
    if (bytes <= SEARCH_MAX_BYTES) return { words, forms: indexForms(given), partial };
    // Some scripts take several bytes a character, and marks between them.
    room = Math.floor((room * SEARCH_MAX_BYTES) / (bytes + 1));
  }
}

/** Of very many, those that come first: the words themselves are all there. */
function indexForms(texts: readonly string[]): string {
  const forms = new Set<string>();
  let room = SEARCH_FORMS_CHARS;
  for (const text of texts) {
    for (const form of formsOfText(text, languageOf(text))) {
      // Of a script without blanks, the characters are indexed.
      if (forms.has(form) || isUnspaced(form)) continue;
      room -= form.length + 1;
      if (room < 0) return [...forms].join(" ");
      forms.add(form);
    }
  }
  return [...forms].join(" ");
}

/** So many characters of the texts: each up to the length at which all of them have room. */
function cutLongest(texts: readonly string[], chars: number): string[] {
  let [room, left] = [chars, chars];
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
  // Of very many texts, those that come first.
  const cut: string[] = [];
  for (const text of texts.map((text) => cutMiddle(text, each))) {
    if (room < 0) break;
    cut.push(text.slice(0, room));
    room -= text.length + 1;
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

/** Letters that a word and its form have in common at least, to be looked for by them. */
const LEAST_COMMON = 3;

/** A word or phrase of a query, in the form of {@link indexWords}. */
export interface Term {
  readonly text: string;
  /** Whether it may go on in the text. */
  readonly isBeginning: boolean;
}

/**
 * The words, `begin*` and `"some phrase"` of a query: those of its first 2,000 characters, each once, 32 at most, and of
 * a phrase the first 128 words. Empty when it has no letter and no digit.
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

/** The query as FTS5 reads it: every term must occur as it is written. Empty when there is none. */
export function matchExpression(query: string): string {
  const terms = queryTerms(query).map(({ text, isBeginning }) => `"${text}"${isBeginning ? " *" : ""}`);
  return terms.join(" ");
}

/** One thing that is asked for, as FTS5 reads it. */
export function askExpression({ forms, isPair, phrase }: Ask): string {
  if (phrase === null && !isPair) return `forms : (${forms.map((form) => `"${form}"`).join(" OR ")})`;
  const { text, isBeginning } = phrase ?? { text: forms[0] ?? "", isBeginning: false };
  return `words : "${firstWords(indexWords(text)).replaceAll('"', " ")}"${isBeginning ? " *" : ""}`;
}

/** What of a text a snippet shows for a word that was asked for in any of its forms: what those begin with. */
export function snippetTerm({ word, forms, isPair, phrase }: Ask): Term {
  if (phrase !== null || isPair)
    return { text: indexWords(phrase?.text ?? word), isBeginning: phrase?.isBeginning === true };
  const common = Array.from(word).findIndex((letter, at) => forms[0]?.charAt(at) !== letter);
  return common < LEAST_COMMON
    ? { text: word, isBeginning: common !== -1 }
    : { text: word.slice(0, common), isBeginning: true };
}
