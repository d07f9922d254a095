/**
 * Text and queries in the form that a full-text index keeps and asks for: the messages' (search.ts) and that of context
 * blocks.
 *
 * Scripts that put no space between words are indexed character by character, and a run of them is asked for as a
 * phrase: any part of a longer run is then found. Safe because every term is quoted: nothing in a query is an operator,
 * so none is malformed.
 */
import { MAX_PHRASE_WORDS, MAX_QUERY_CHARS, MAX_QUERY_TERMS } from "../limits.ts";

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

/** A piece of an indexed text as it was before {@link indexWords}. */
export function readableWords(words: string): string {
  return words.replaceAll(GAP, "");
}

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

/** The query as FTS5 reads it: every term must occur, or with `any` one of them. Empty when there is none. */
export function matchExpression(query: string, any = false): string {
  const terms = queryTerms(query).map(({ text, isBeginning }) => `"${text}"${isBeginning ? " *" : ""}`);
  return terms.join(any ? " OR " : " ");
}
