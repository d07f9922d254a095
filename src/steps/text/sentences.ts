/**
 * Splits prose into sentences, exactly as written.
 *
 * Text in, slices of that text out, and nothing is rephrased. It is safe on hostile input, because it passes once over
 * the characters without backtracking. A megabyte of dots costs as much as a megabyte of prose.
 */

import { findDiffLines } from "./diffs.ts";
import { LIST_MARK } from "./markdown.ts";
import { findPastedLines } from "./pasted.ts";

/** A sentence, and the form of its line. */
export interface Sentence {
  readonly text: string;
  /** Whether its line is a list item. */
  readonly bullet: boolean;
  /** Running prose without an indent, before any code block, and without a mark of a list, quotation, heading or table. */
  readonly plain: boolean;
  /** The line's number, from 0. */
  readonly line: number;
  /** A statement that ends in a colon, together with the list below it. */
  readonly withList?: string;
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
/** A line that does not begin with a word of a sentence, because it is marked, quoted or pasted. */
const MARKED = /^(?:[-*+•>#|<=~`"'“”„«‘]|\d{1,3}[.)]\s)/;
const CHECKBOX = /^\[[ xX]\]\s+/;

/** A line that begins an order of its own in lower case. Any other line in lower case goes on with an open sentence. */
const OWN_ORDER = /^(?:don['’]?t|do not|never|always|please|pls|plz|make sure|ensure|avoid|use|stop|also|no)\b/;
const ENDS = /[.!?:;。！？：；|`>)\]]$/;
/** Most characters of lines that are read as one, and of a statement with its list. */
const MAX_JOINED = 400;

const LINE_BREAK = /\r?\n/;
/** A code fence alone on its line. One that closes on the same line is inline code. */
const FENCE = /^(?:```[^`]*|~~~.*)$/;

/**
 * The sentences of `text` in order, without surrounding space or list marks. Leaves out headings, table rows, rules,
 * fenced code and the lines of a diff, which are not prose.
 */
export function splitSentences(text: string): Sentence[] {
  return split(text, isProse);
}

/**
 * Like {@link splitSentences}, but also headings, table cells, and the text after a fence that is never closed. The lines
 * of a diff are left out here, too, because nobody says them, and so are quoted lines and pasted mails. A sentence that a line break cuts in two is one, and a
 * statement that ends in a colon has the list below it.
 */
export function splitStatements(text: string): Sentence[] {
  return split(text, null);
}

function split(text: string, isWanted: ((line: string) => boolean) | null): Sentence[] {
  const found: Sentence[] = [];
  const fenced: Sentence[] = [];
  let fence: string | null = null;
  let plain = true;
  const written = text.split(LINE_BREAK);
  const ofDiff = findDiffLines(written);
  const foreign = isWanted === null ? new Set([...ofDiff, ...findPastedLines(written)]) : ofDiff;
  const lines = isWanted === null ? joinLines(written, foreign) : written;
  lines.forEach((raw, at) => {
    if (raw === null) return;
    if (foreign.has(at)) {
      plain = false;
      return;
    }
    const words = raw.trim();
    const mark = FENCE.test(words) ? words.slice(0, 3) : null;
    if (mark !== null && (fence === null || fence === mark)) {
      fence = fence === null ? mark : null;
      plain = false;
      fenced.length = 0;
    } else if (fence !== null) {
      if (isWanted === null) splitLine({ words, plain, at }, fenced);
    } else if (isWanted === null || isWanted(words)) {
      splitLine({ words, plain: plain && !/^(?:\t| {4})/.test(raw), at }, found);
      const last = found.at(-1);
      if (isWanted === null && last !== undefined && /[:：]$/.test(words) && raw.includes(last.text))
        found[found.length - 1] = withListBelow(last, lines, at);
    }
  });
  return fence === null ? found : [...found, ...fenced];
}

/** Puts a line that goes on with a sentence behind the line before it, and null in its own place. */
function joinLines(lines: readonly string[], foreign: ReadonlySet<number>): (string | null)[] {
  const joined: (string | null)[] = [...lines];
  let head = 0;
  lines.forEach((line, at) => {
    const before = joined[head] ?? "";
    if (at > 0 && !foreign.has(at) && !foreign.has(at - 1) && goesOn(before, line)) {
      joined[head] = `${before}\n${line}`;
      joined[at] = null;
    } else head = at;
  });
  return joined;
}

function goesOn(before: string, line: string): boolean {
  const start = before.trimStart();
  const words = line.trim();
  if (start === "" || before.length + line.length > MAX_JOINED || /^[#|>`~<]/.test(start)) return false;
  if (/^(?:\t| {4})/.test(line) && !LIST_MARK.test(start)) return false;
  return /^\p{Ll}/u.test(words) && !OWN_ORDER.test(words) && !ENDS.test(before.trimEnd());
}

/** The statement with the whole items of the list below it that fit. At most one empty line may stand between. */
function withListBelow(statement: Sentence, lines: readonly (string | null)[], at: number): Sentence {
  const raw = lines[at] ?? "";
  let whole = raw.slice(raw.lastIndexOf(statement.text));
  const first = whole;
  let gap = "";
  for (const line of lines.slice(at + 1, at + 1 + MAX_JOINED)) {
    if (line === null) continue;
    if (line.trim() === "" && whole === first && gap === "") gap = "\n";
    else if (LIST_MARK.test(line.trim()) && whole.length + line.length < MAX_JOINED) {
      whole += `\n${gap}${line}`;
      gap = "";
    } else break;
  }
  return whole === first ? statement : { ...statement, withList: whole };
}

function isProse(line: string): boolean {
  return (
    line !== "" && !line.startsWith("#") && !line.startsWith("|") && !line.startsWith("---") && !line.startsWith("===")
  );
}

interface Line {
  readonly words: string;
  readonly plain: boolean;
  readonly at: number;
}

function splitLine({ words, plain, at }: Line, into: Sentence[]): void {
  const bullet = LIST_MARK.test(words);
  const more = { bullet, plain: plain && !MARKED.test(words), line: at };
  const body = words.replace(LINE_MARK, "").replace(CHECKBOX, "");
  for (const cell of body.startsWith("|") ? body.split("|") : [body]) splitBody(cell, more, into);
}

function splitBody(body: string, more: Omit<Sentence, "text">, into: Sentence[]): void {
  let start = 0;
  for (let at = 0; at < body.length; at++) {
    if (!endsSentence(body, at)) continue;
    push(body.slice(start, at + 1), more, into);
    more = { ...more, line: more.line + body.slice(start, at + 1).split("\n").length - 1 };
    start = at + 1;
  }
  push(body.slice(start), more, into);
}

function push(slice: string, more: Omit<Sentence, "text">, into: Sentence[]): void {
  const text = slice.trim();
  if (/[\p{L}\p{N}]/u.test(text)) into.push({ text, ...more });
}

/**
 * A mark ends a sentence if a space follows, and CJK marks do so anywhere. A full stop after an abbreviation, a single letter
 * or a short number does not.
 */
function endsSentence(body: string, at: number): boolean {
  const mark = body[at];
  if (mark === "。" || mark === "！" || mark === "？") return true;
  if (mark !== "." && mark !== "!" && mark !== "?") return false;
  if (body[at + 1] !== " ") return false;
  if (mark !== ".") return true;
  const word = body
    .slice(Math.max(0, body.lastIndexOf(" ", at) + 1, at - 12), at + 1)
    .toLowerCase()
    .replace(/^\W+/, "");
  return !ABBREVIATIONS.has(word) && !/^(?:[a-z]|\d{1,2})\.$/.test(word);
}
