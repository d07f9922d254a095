/**
 * Cuts prose into sentences, exactly as written.
 *
 * Boundary: text in, slices of that text out; nothing is rephrased. Safe on hostile input because it is one pass over
 * the characters with no backtracking: a megabyte of dots costs what a megabyte of prose does.
 */

/** A sentence, and whether its line was a list item. */
export interface Sentence {
  readonly text: string;
  readonly bullet: boolean;
}

/** Words that end in a dot without ending a sentence. */
const ABBREVIATIONS = new Set([
  "e.g.",
  "i.e.",
  "etc.",
  "vs.",
  "mr.",
  "mrs.",
  "ms.",
  "dr.",
  "no.",
  "approx.",
  "fig.",
  "cf.",
]);

/** A list marker, quote mark or heading mark in front of a line's own words. */
const LINE_MARK = /^(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+/;
const LIST_MARK = /^(?:[-*+•]|\d{1,3}[.)])\s+/;
const CHECKBOX = /^\[[ xX]\]\s+/;

/**
 * The sentences of `text`, in order, without surrounding space or list marks. Headings, table rows, rules and fenced
 * code are not prose and are left out.
 */
export function splitSentences(text: string): Sentence[] {
  const found: Sentence[] = [];
  let fence: string | null = null;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    const mark = line.startsWith("```") ? "```" : line.startsWith("~~~") ? "~~~" : null;
    if (mark !== null && (fence === null || fence === mark)) fence = fence === null ? mark : null;
    else if (fence === null && isProse(line)) splitLine(line, found);
  }
  return found;
}

function isProse(line: string): boolean {
  return (
    line !== "" && !line.startsWith("#") && !line.startsWith("|") && !line.startsWith("---") && !line.startsWith("===")
  );
}

function splitLine(line: string, into: Sentence[]): void {
  const bullet = LIST_MARK.test(line);
  const body = line.replace(LINE_MARK, "").replace(CHECKBOX, "");
  let start = 0;
  for (let at = 0; at < body.length; at++) {
    if (!endsSentence(body, at)) continue;
    push(body.slice(start, at + 1), bullet, into);
    start = at + 1;
  }
  push(body.slice(start), bullet, into);
}

function push(slice: string, bullet: boolean, into: Sentence[]): void {
  const text = slice.trim();
  if (/[\p{L}\p{N}]/u.test(text)) into.push({ text, bullet });
}

/** A stop is the end when space and then something other than a lower-case word's continuation follows. */
function endsSentence(body: string, at: number): boolean {
  const mark = body[at];
  if (mark === "。" || mark === "！" || mark === "？") return true;
  if (mark !== "." && mark !== "!" && mark !== "?") return false;
  if (body[at + 1] !== " ") return false;
  if (mark !== ".") return true;
  const word = body.slice(Math.max(0, body.lastIndexOf(" ", at) + 1, at - 12), at + 1).toLowerCase();
  return !ABBREVIATIONS.has(word) && !/^(?:[a-z]|\d{1,2})\.$/.test(word);
}
