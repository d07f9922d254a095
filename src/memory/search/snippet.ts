/**
 * The part of a long text in which a query's words stand.
 *
 * Job: find the first stretch that holds the most of them, by the rules of the index: case and accents do not count, and
 * what is neither letter nor digit parts words. Boundary: pure, on an indexed text (search/words.ts).
 *
 * Why its cost is bounded: one pass over the text however often a word occurs, a window at a time, which ends where all
 * of the words stand together, or enough places were compared. FTS5's own compares every occurrence with every other.
 */
import { readableWords, type Term } from "./words.ts";

/** Characters of a text that are looked through at a time for a snippet: nearly every text is read in one piece. */
const SNIPPET_WINDOW_CHARS = 100_000;

/** Words of a phrase by which its place is found for a snippet: more of them tell it no better, and cost time each. */
const SNIPPET_PHRASE_WORDS = 8;

/** HiddenMessages of the words in one text that are compared for its snippet: the best of so many is good enough. */
const SNIPPET_MATCHES = 1_000;

/** Characters of a snippet, some 30 words, and those of them that stand before the match. */
const SNIPPET_CHARS = 240;
const SNIPPET_LEAD_CHARS = 80;

const WORD = "[\\p{L}\\p{N}\\p{Co}]";
const BETWEEN = "[^\\p{L}\\p{N}\\p{Co}]+";
const ACCENT = "[\\u0300-\\u036f]";

/** Makes snippets for a query: about 240 characters, cuts marked by "…"; the beginning of a text where no term is found. */
export function snippetsFor(terms: readonly Term[]): (words: string) => string {
  const search = { pattern: patternOf(terms), count: terms.length };
  return (words) => cutAround(words, findBest(words, search));
}

function cutAround(words: string, at: number): string {
  // Twice as many, as the marks between characters of unspaced scripts go.
  const lead = readableWords(words.slice(Math.max(0, at - 2 * SNIPPET_LEAD_CHARS), at));
  const before = lead.slice(-SNIPPET_LEAD_CHARS);
  const room = SNIPPET_CHARS - before.length;
  const rest = readableWords(words.slice(at, at + 2 * room));
  const after = rest.slice(0, room);
  const opens = at > 2 * SNIPPET_LEAD_CHARS || lead.length > before.length;
  const closes = at + 2 * room < words.length || rest.length > after.length;
  return (opens ? `…${dropBroken(before, "start")}` : before) + (closes ? `${dropBroken(after, "end")}…` : after);
}

/** Where the first stretch of a snippet's length begins that holds the most terms; 0 when none is there. */
function findBest(words: string, { pattern, count }: { pattern: RegExp; count: number }): number {
  const last = new Map<string, number>();
  let best = { at: 0, count: 0 };
  let compared = 0;
  for (let from = 0; from < words.length; from += SNIPPET_WINDOW_CHARS) {
    // With what surrounds it, so that no word is cut in two.
    const start = Math.max(0, from - SNIPPET_CHARS);
    const window = words.slice(start, from + SNIPPET_WINDOW_CHARS + SNIPPET_CHARS).normalize("NFD");
    let [counted, length] = [0, 0];
    for (const match of window.matchAll(pattern)) {
      // Counted as the text is written, composed: from the last match on, so that each character is counted once.
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

/** Letters with any accents or none. Letters and digits mean nothing to a pattern, so none is escaped. */
function tokenPattern(token: string): string {
  return token.replaceAll(new RegExp(ACCENT, "gu"), "").replaceAll(/./gsu, `$&${ACCENT}*`);
}

/** Without half a word at its cut end, unless that is all there is; never half a character. */
function dropBroken(text: string, end: "start" | "end"): string {
  const whole = end === "start" ? text.replace(/^\S{0,20}\s+/, "") : text.replace(/\s+\S{0,20}$/, "");
  return (whole === "" ? text : whole).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}
