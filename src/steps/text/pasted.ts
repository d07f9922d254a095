/**
 * Finds lines of a user's text that somebody else wrote: quotations, a mail below its head, what stands between tags that name a program or
 * a source, and changes of a diff without heads of hunks (diffs.ts reads those with heads).
 *
 * Lines in, their numbers out. What is only similar counts as the user's own. Its time is linear in the text.
 */

const QUOTED = /^\s*>/;
/** The head of a mail. One at the start of a text is the user's own mail. */
const SENDER = /^(?:\*{0,2})(?:From|Von|De|Da):\*{0,2} \S/;
const FURTHER_HEAD =
  /^(?:\*{0,2})(?:Sent|Date|To|Subject|Gesendet|Datum|An|Betreff|Envoyé|Objet|Enviado|Asunto|Oggetto|Assunto):/;
/** The line before the name of a mail's sender. What follows that name is the user's again. */
const CLOSING =
  /^(?:best|kind|warm)?\s*(?:regards|wishes|best|cheers|thanks|thank you|sincerely|(?:viele|liebe|beste|mit freundlichen) grüßen?)[,.!]?$/i;
const MAIL_HEAD_LINES = 4;

/** The two lines, or three of stars and dashes, before a file's changes. */
const OLD_FILE = /^(?:---|\*\*\*) \S/;
const NEW_FILE = /^(?:\+\+\+|---) \S/;
const OF_FILE = /^(?:[ +!\\-]|\*\*\*|@@|##)/;
const CHANGED = /^[+-](?![+-])\S/;

/** A tag around what a program or a source says, as hosts write it into a user's message. Other tags are around the user's own words. */
const SOURCE_TAG =
  /^\s*<(documents?|file(?=\s)|system-reminder|(?:[\w-]+[-_])?(?:notification|std(?:out|err))|(?:tool|function|command|bash|search|file|page|web)[-_](?:[\w-]+[-_])?(?:results?|outputs?|contents?))(?:\s[^<>]*)?(?<!\/)>/i;

/** What follows the name begins with another sign, so that the name ends in one place only. */
const TAG = /<(\/?)([\w-]+)(?:[^<>\w-][^<>]*)?>/g;

/** The places of all such lines, from 0. */
export function findPastedLines(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set(betweenTags(lines));
  let end = 0;
  let pasted = false;
  let own = false;
  for (const [at, line] of lines.entries()) {
    if (at >= end) {
      const mail = own && isMailHead(lines, at);
      end = mail ? endOfMail(lines, at) : endOfChanges(lines, at);
      pasted = mail || OLD_FILE.test(line) || rewords(lines.slice(at, end));
    }
    if ((at < end && pasted) || QUOTED.test(line)) found.add(at);
    own ||= line.trim() !== "";
  }
  return found;
}

function* betweenTags(lines: readonly string[]): Generator<number> {
  const ends = endsOfTags(lines);
  let end = -1;
  for (const [at, line] of lines.entries()) {
    if (at > end) end = ends.get(keyOf(SOURCE_TAG.exec(line)?.[1], at)) ?? -1;
    // What follows the end is the user's again.
    if (at < end || (at === end && line.trimEnd().endsWith(">"))) yield at;
  }
}

/** The line of the end of each tag that has one, by {@link keyOf}. A tag around others that lack their ends has the first end. */
function endsOfTags(lines: readonly string[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  const begun = new Map<string, { readonly open: string[]; readonly endless: string[] }>();
  for (const [at, line] of lines.entries()) {
    for (const [text, slash, name = ""] of line.matchAll(TAG)) {
      const named = name.toLowerCase();
      const { open, endless } = begun.get(named) ?? { open: [], endless: [] };
      begun.set(named, { open, endless });
      if (slash === "/") {
        for (const key of [...endless.splice(0), ...open.splice(-1)]) ends.set(key, at);
      } else if (!text.endsWith("/>")) {
        open.push(keyOf(named, at));
        endless.push(keyOf(named, at));
      }
    }
  }
  return ends;
}

function keyOf(name = "", at: number): string {
  return `${name.toLowerCase()} ${at}`;
}

function isMailHead(lines: readonly string[], at: number): boolean {
  if (!SENDER.test(lines[at] ?? "")) return false;
  return lines.slice(at + 1, at + 1 + MAIL_HEAD_LINES).filter((line) => FURTHER_HEAD.test(line)).length >= 2;
}

/** The place behind the sender's name, or the end of the text. */
function endOfMail(lines: readonly string[], at: number): number {
  const closing = lines.findIndex((line, place) => place > at && CLOSING.test(line.trim()));
  if (closing === -1) return lines.length;
  const name = lines.findIndex((line, place) => place > closing && line.trim() !== "");
  return name === -1 ? lines.length : name + 1;
}

/** The place behind the lines that start at `at` and may be changes, or `at` where there are none. */
function endOfChanges(lines: readonly string[], at: number): number {
  const ofFile = OLD_FILE.test(lines[at] ?? "") && NEW_FILE.test(lines[at + 1] ?? "");
  const inChanges = ofFile ? OF_FILE : CHANGED;
  let end = at;
  while (inChanges.test(lines[end] ?? "")) end++;
  return end;
}

/** True where an added line repeats most words of the removed line before it. Lists of dos and don'ts do not. */
function rewords(changes: readonly string[]): boolean {
  return changes.some((line, at) => {
    const next = changes[at + 1] ?? "";
    if (!line.startsWith("-") || !next.startsWith("+")) return false;
    const before = line.slice(1).split(/\s+/);
    const after = new Set(next.slice(1).split(/\s+/));
    return before.filter((word) => after.has(word)).length > before.length / 2;
  });
}
