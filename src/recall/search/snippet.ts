/**
 * Cuts the part of a long text that contains a query's words.
 *
 * Finds the first range with the most words, by the rules of the index. Case and accents are ignored, and any character
 * that is neither letter nor digit separates words. It is pure and works on an indexed text (words.ts).
 *
 * Its cost is bounded. It reads the text once, a window at a time, and stops where all words stand together or after
 * enough compared places. FTS5's own snippet function compares every occurrence with every other.
 */
import { readableWords, type Term } from "./words.ts";

/** Characters searched for a snippet at a time. Nearly every text fits into one window. */
const SNIPPET_WINDOW_CHARS = 100_000;

/** Words of a phrase used to find its place. More words find it no better, and each costs time. */
const SNIPPET_PHRASE_WORDS = 8;

/** Most word occurrences in one text that are compared for its snippet. The best of so many is good enough. */
const SNIPPET_MATCHES = 1_000;

/** Characters of a snippet, some 30 words, and how many of them stand before the match. */
const SNIPPET_CHARS = 240;
const SNIPPET_LEAD_CHARS = 80;

const WORD = "[\\p{L}\\p{N}\\p{Co}]";
const BETWEEN = "[^\\p{L}\\p{N}\\p{Co}]+";
const ACCENT = "[\\u0300-\\u036f]";

/**
 * Makes snippets for a query, about 240 characters with cuts marked by "…". Without a match it shows the text's
 * beginning.
 */
export function snippetsFor(terms: readonly Term[]): (words: string) => string {
  const search = { pattern: patternOf(terms), count: terms.length };
  return (words) => cutAround(words, findBest(words, search));
}

function cutAround(words: string, at: number): string {
  // Twice as many, because the marks between characters of unspaced scripts are removed.
  const lead = readableWords(words.slice(Math.max(0, at - 2 * SNIPPET_LEAD_CHARS), at));
  const before = lead.slice(-SNIPPET_LEAD_CHARS);
  const budget = SNIPPET_CHARS - before.length;
  const rest = readableWords(words.slice(at, at + 2 * budget));
  const after = rest.slice(0, budget);
  const opens = at > 2 * SNIPPET_LEAD_CHARS || lead.length > before.length;
  const closes = at + 2 * budget < words.length || rest.length > after.length;
  return (opens ? `…${dropBroken(before, "start")}` : before) + (closes ? `${dropBroken(after, "end")}…` : after);
}

/** Where the first range of a snippet's length begins that contains the most terms. 0 when there is none. */
function findBest(words: string, { pattern, count }: { pattern: RegExp; count: number }): number {
  const last = new Map<string, number>();
  let best = { at: 0, count: 0 };
  let compared = 0;
  for (let from = 0; from < words.length; from += SNIPPET_WINDOW_CHARS) {
    // Includes text around the window, so that no word is cut in two.
    const start = Math.max(0, from - SNIPPET_CHARS);
    const window = words.slice(start, from + SNIPPET_WINDOW_CHARS + SNIPPET_CHARS).normalize("NFD");
    let [counted, length] = [0, 0];
    for (const match of window.matchAll(pattern)) {
      // Offsets count the composed text. Counting from the last match visits each character once.
      length += window.slice(counted, match.index).normalize("NFC").length;
      counted = match.index;
      const at = start + length;
      for (const [term, found] of Object.entries(match.groups ?? {})) if (found !== undefined) last.set(term, at);
      const near = [...last.values()].filter((each) => at - each < SNIPPET_CHARS - SNIPPET_LEAD_CHARS);
      if (near.length > best.count) best = { at: Math.min(...near), count: near.length };
      if (best.count === count || ++compared === SNIPPET_MATCHES) return best.at;
    }
  }
  return best.at;
}

/** Each term as a group of its own. */
function patternOf(terms: readonly Term[]): RegExp {
  const groups = terms.map(({ text, isBeginning }, n) => {
    const tokens = text.normalize("NFD").match(new RegExp(`(?:${WORD}|${ACCENT})+`, "gu")) ?? [];
    return `(?<t${n}>${tokens.slice(0, SNIPPET_PHRASE_WORDS).map(tokenPattern).join(BETWEEN)}${isBeginning ? "" : `(?!${WORD}|${ACCENT})`})`;
  });
  return new RegExp(`(?<!${WORD}${ACCENT}*)(?:${groups.join("|")})`, "giu");
}

/** Letters with or without accents. The token has letters and digits only, so nothing needs escaping. */
function tokenPattern(token: string): string {
  return token.replaceAll(new RegExp(ACCENT, "gu"), "").replaceAll(/./gsu, `$&${ACCENT}*`);
}

/** Removes half a word at the cut end, unless nothing else is left. Always removes half a surrogate pair. */
function dropBroken(text: string, end: "start" | "end"): string {
  const whole = end === "start" ? text.replace(/^\S{0,20}\s+/, "") : text.replace(/\s+\S{0,20}$/, "");
  return (whole === "" ? text : whole).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}
