/**
 * Text and queries in the form that a full-text index keeps and asks for: the messages' (search.ts) and that of context
 * blocks.
 *
 * Scripts that put no space between words are indexed character by character, and a run of them is asked for as a
 * phrase: any part of a longer run is then found. Safe because every term is quoted: nothing in a query is an operator,
 * so none is malformed.
 */
import { MAX_QUERY_CHARS } from "../limits.ts";

/** Put between characters of unspaced scripts: nobody writes it, it parts words for the index, and it shows as nothing. */
const GAP = "\u2063";

/** Scripts whose words run together, or carry their endings with them. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const CHARACTER_EDGE = new RegExp(`(?<![${UNSPACED}])(?=[${UNSPACED}])|(?<=[${UNSPACED}])`, "gu");

/** What the index is given for a text. What SQLite could not keep (NUL, lone surrogates) parts words. */
export function indexWords(text: string): string {
  return text.toWellFormed().replaceAll("\0", " ").normalize("NFC").replaceAll(CHARACTER_EDGE, GAP);
}

/** A piece of an indexed text as it was before {@link indexWords}. */
export function readableWords(words: string): string {
  return words.replaceAll(GAP, "");
}

/**
 * The query as FTS5 reads it: all of `word`, `begin*` and `"some phrase"` must occur. Empty when it has no letter and no
 * digit. Looks at the first 2,000 characters. With `any`, one of them is enough.
 */
export function matchExpression(query: string, any = false): string {
  const terms: string[] = [];
  for (const [, phrase, star, word] of query.slice(0, MAX_QUERY_CHARS).matchAll(/"([^"]*)"?(\*?)|([^\s"]+)/g)) {
    const text = indexWords(phrase ?? word ?? "");
    const prefix = star === "*" || word?.endsWith("*") === true;
    if (/[\p{L}\p{N}]/u.test(text)) terms.push(`"${text}"${prefix ? " *" : ""}`);
  }
  return terms.join(any ? " OR " : " ");
}
