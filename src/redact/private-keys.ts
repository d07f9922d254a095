/**
 * Finds private keys in blocks (PEM, OpenSSH and PGP) in files, logs, listings, code and JSON.
 *
 * It reads from a first line to the nearest last line. Where one of the two is missing, it reads over the text next to the other that looks
 * like a body. Line numbers, quotes and headers between the lines make no difference.
 */
import type { Finding } from "./keys.ts";

const FIRST_LINE = /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
const LAST_LINE = /-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
const EITHER_LINE = /-{4,5} ?(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
const LAST_WORD = /^-+ ?END/;
const PUTTY = /\bPrivate-Lines: \d{1,3}/g;
const KIND = "private key";

/** Characters of the longest body, which is an RSA key of 16,384 bits with line numbers. */
const MAX_BODY = 40_000;
/** Code that only names both lines has no such run of letters and digits between them. */
const HAS_BODY = /(?=[\w+/=]{0,60}\d)[\w+/=]{24}/;

/** One piece of a body, which is a line's decoration, a header, or a run of base64. */
const DECORATION = /(?:\\{1,7}[nrt]|[\s"'`+|>#*,.\\-]|\d{1,6}(?=[\s:|→.\\]))[:|→.)]?/y;
const HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Private-MAC): [^\n\\"]{0,200}/y;
const RUN = /[\w+/=]{16,}/y;
/** The last line of a body may be short. It ends a line. */
const SHORT_RUN = /[\w+/]{1,15}={0,2}(?=\s*$|\\{1,7}[nr]|["'`\n])/y;

/** Separators of lines, also of a text within JSON. */
const LINE_END = /(\n|\\{1,7}[nr])/;
/** Characters that may stand before or after a line's run of base64. */
const BEFORE_RUN = /^[\s"'`+|>#*,.\\-]*(?:\d{1,6}(?:\\{1,7}t|[\s:|→.)])+)?[\s"'`+|>-]*/;
const RUN_ALONE = /^=?[\w+/]+(?:={1,2}[\s"'`+,\\]*|[\s"'`,\\][\s"'`+,\\]*)?$/;
/** A run after other text on its line, such as the name of a member, is so long and has a digit near its beginning. */
const LEAST_RUN_AT_END = 24;
const DIGIT_WITHIN = 60;
const OF_RUN = /[\w+/]/;
const AFTER_RUN = /[\s"'`+,\\]/;

export function* findPrivateKeys(text: string): Iterable<Finding> {
  const firsts = [...text.matchAll(FIRST_LINE)];
  const lasts = firsts.length === 0 ? [] : [...text.matchAll(LAST_LINE)];
  let blanked = 0;
  for (const [at, { index: start, 0: line }] of firsts.entries()) {
    if (start < blanked) continue;
    const bodyAt = start + line.length;
    while ((lasts[0]?.index ?? Infinity) < bodyAt) lasts.shift();
    const last = lasts[0];
    const isClosed = last !== undefined && last.index < (firsts[at + 1]?.index ?? Infinity);
    const end = isClosed && last.index - bodyAt <= MAX_BODY ? last.index + last[0].length : endOfBody(text, bodyAt);
    if (!HAS_BODY.test(text.slice(bodyAt, end))) continue;
    blanked = end;
    yield { start, end, kind: KIND };
  }
  yield* findCutOff(text);
  for (const { index, 0: line } of text.matchAll(PUTTY)) {
    const bodyAt = index + line.length;
    const end = endOfBody(text, bodyAt);
    if (HAS_BODY.test(text.slice(bodyAt, end))) yield { start: bodyAt, end, kind: KIND };
  }
}

/** Finds bodies whose beginning was cut off, as the lines of base64 right before a last line. */
function* findCutOff(text: string): Iterable<Finding> {
  let from = 0;
  for (const { index, 0: line } of text.matchAll(EITHER_LINE)) {
    if (LAST_WORD.test(line)) {
      const start = startOfBody(text, Math.max(from, index - MAX_BODY), index);
      const end = index + line.length;
      if (HAS_BODY.test(text.slice(start, index))) yield { start, end, kind: KIND };
    }
    // The text between two such lines was searched above.
    from = index + line.length;
  }
}

/** Returns where the lines of base64 that end at `to` begin, but not before `least`. */
function startOfBody(text: string, least: number, to: number): number {
  let start = to;
  let at = to;
  // The separators are elements between the lines.
  for (const [n, line] of text.slice(least, to).split(LINE_END).toReversed().entries()) {
    at -= line.length;
    if (n % 2 === 1) continue;
    const before = BEFORE_RUN.exec(line)?.[0].length ?? 0;
    const run = line.slice(before);
    if (start === to && run === "") continue;
    if (!RUN_ALONE.test(run)) {
      const found = findRunAtEnd(line);
      return found === null ? start : at + found;
    }
    // The last line of a body may be short.
    if (start < to && run.length < 16) break;
    start = at + before;
  }
  return start;
}

/** Returns where the run of base64 begins that ends the line, or null. It reads from the end, so its time is linear in the line. */
function findRunAtEnd(line: string): number | null {
  let end = line.length;
  while (end > 0 && AFTER_RUN.test(line.charAt(end - 1))) end--;
  const padded = end;
  while (end > 0 && padded - end < 2 && line.charAt(end - 1) === "=") end--;
  let start = end;
  while (start > 0 && OF_RUN.test(line.charAt(start - 1))) start--;
  const digit = line.slice(start, end).search(/\d/);
  if (digit === -1) return null;
  // A plus belongs to the run as well as to the code behind it.
  if (end === padded) while (line.charAt(end) === "+") end++;
  const from = Math.max(start, start + digit - DIGIT_WITHIN);
  return end - from >= LEAST_RUN_AT_END ? from : null;
}

function exec(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}

/** Returns the end of the last run of base64 that follows without a gap. */
function endOfBody(text: string, from: number): number {
  let at = from;
  let end = from;
  while (at - from <= MAX_BODY) {
    const piece = exec(HEADER, text, at) ?? exec(RUN, text, at) ?? (end > from ? exec(SHORT_RUN, text, at) : null);
    const skipped = piece ?? exec(DECORATION, text, at);
    if (skipped === null) break;
    at += skipped[0].length;
    if (piece !== null) end = at;
  }
  return end;
}
