/**
 * Text and queries in the form that the index of block entries keeps and asks for.
 *
 * Scripts that put no space between words are indexed one character at a time, and a run of them is asked for as a
 * phrase: a part of a longer run is then found. Safe because every term is quoted: a query cannot be a syntax error.
 */

/** Scripts whose words run together, or carry their endings with them. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/gu;

/** What the index is given for `text`. */
export function indexWords(text: string): string {
  return text.normalize("NFC").replaceAll(UNSPACED, " $& ");
}

/** An FTS5 expression: all words and all "quoted phrases" must occur. Null when the query has no word. */
export function matchExpression(query: string): string | null {
  // SQLite would take the text to end at a NUL, in the middle of a quoted term.
  const plain = query
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/\p{Cc}/gu, " ");
  const terms = [...plain.matchAll(/"([^"]*)"|[^\s"]+/g)].map((found) => found[1] ?? found[0]);
  const words = terms.filter((term) => /[\p{L}\p{N}]/u.test(term));
  return words.length === 0 ? null : words.map((word) => `words : "${indexWords(word)}"`).join(" AND ");
}
