/**
 * Standing instructions: which words of the user hold until he ends them.
 *
 * A model reads that, and the code here checks it. The answer names each instruction as a quotation with its message. It is taken only where
 * the words stand in a message of the user. One is ended only where the answer quotes a later message of the user that does so. So nothing
 * that a tool, a page, a file or an earlier summary says can become an instruction or end one. Without an answer all stay.
 */
import type { UIMessage } from "ai";
import { normalForm } from "../steps/text/text.ts";
import { ENDED_TITLE, STANDING_TITLE } from "../steps/draft/prompt.ts";
import { storedId } from "../steps/view/view.ts";
import { isNothing } from "../steps/draft/audit.ts";
import type { EndedInstruction, Facts, Instruction } from "./fact.ts";
import { wordsOfUser } from "./said.ts";

/** Most characters of one instruction. A longer quotation is a document. */
const MAX_CHARS = 600;
const LEAST_CHARS = 3;
/** Most entries of a list that are read, because each is compared with all others. */
const MAX_NAMED = 100;

/** The two lists of an answer, with the summary that stands before them. */
export interface Answered {
  readonly summary: string;
  readonly standing: readonly Named[];
  readonly ended: readonly Named[];
}

/** One line of a list. */
interface Named {
  /** All that is quoted at once, because a quotation may hold marks of its own, then each quotation alone. */
  readonly quotes: readonly string[];
  /** The same of the later message that ends it. */
  readonly by: readonly string[];
  /** Numbers of the transcript's messages. */
  readonly numbers: readonly number[];
}

const HEADING = /^ {0,3}(?:#{1,6}[ \t]|\*\*.*\*\*:?$)/;
/** Bounded, because a mark may have no other. A piece holds no mark that begins it, or a text of such marks would be read for each. */
const QUOTED =
  /"((?:[^"\\]|\\.){1,700})"|“([^“”]{1,700})”|„([^„“”]{1,700})[“”]|«([^«»]{1,700})»|「([^「」]{1,700})」|『([^『』]{1,700})』/g;
const FIRST_MARK = /["“„«「『]/;
const LAST_MARK = /["”“»」』][^"”“»」』]*$/;
const ENDED_BY = / ended by /i;
const NUMBER = /#(\d{1,9})/g;
const MARKS = /[*_#:]/g;

/** Takes the two lists out of an answer. Lines that name nothing are dropped with them. */
export function readAnswer(text: string): Answered {
  const lists = new Map<string, Named[]>([
    [STANDING_TITLE.toLowerCase(), []],
    [ENDED_TITLE.toLowerCase(), []],
  ]);
  let list: Named[] | undefined;
  const summary = text.split(/\r?\n/).filter((line) => {
    const own = lists.get(line.replaceAll(MARKS, "").trim().toLowerCase());
    if (own !== undefined || HEADING.test(line.trimEnd())) {
      list = own;
      return own === undefined;
    }
    if (list === undefined) return true;
    if (list.length < MAX_NAMED && !isNothing(line)) list.push(readLine(line));
    return false;
  });
  const [standing = [], ended = []] = [...lists.values()];
  return { summary: summary.join("\n").trimEnd(), standing, ended };
}

function readLine(line: string): Named {
  const numbers = [...line.matchAll(NUMBER)].map(([, digits]) => Number(digits));
  const [first = "", ...rest] = line.split(ENDED_BY);
  const [quotes, by] = [readQuotes(first), readQuotes(rest.join(" "))];
  // In another language, the second quotation ends the first.
  return rest.length > 0 ? { quotes, by, numbers } : { quotes, by: quotes.slice(2), numbers };
}

function readQuotes(line: string): string[] {
  const from = line.search(FIRST_MARK) + 1;
  const to = line.search(LAST_MARK);
  const pieces = [...line.matchAll(QUOTED)].flatMap((found) => found.slice(1).find((each) => each !== undefined) ?? []);
  const all = from > 0 && to >= from ? [line.slice(from, to), ...pieces] : [withoutMarks(line)];
  return all.map((each) => each.replaceAll(/\\(.)/g, "$1"));
}

function withoutMarks(line: string): string {
  return line
    .replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "")
    .replaceAll(/\[[^\][]*\]/g, "")
    .trim();
}

/** What a model was shown when it named instructions. */
export interface Shown {
  readonly messages: readonly UIMessage[];
  /** The numbers of the transcript and the ids of its messages. */
  readonly numbers: ReadonlyMap<number, string>;
  /** The instructions that held before. */
  readonly before: readonly Instruction[];
}

/** A place in a conversation where words of the user stand. */
type Placed<Value> = Value & { readonly at: number };

/** The instructions of an answer that stand in the user's messages, and those that a later message of the user ended. */
export function checkInstructions(
  { standing, ended }: Pick<Answered, "standing" | "ended">,
  { messages, numbers, before }: Shown,
): Pick<Facts, "instructions" | "ended"> {
  const words = messages.flatMap((message, at) => {
    const text = wordsOfUser(message);
    return text === "" ? [] : [{ at, messageId: storedId(message.id), text: plainText(text) }];
  });
  /** Where a quotation stands. The messages that the line names come first. */
  const find = (quote: string, named: readonly number[]): Placed<Instruction>[] => {
    const cited = new Set(named.flatMap((number) => numbers.get(number) ?? []));
    const found = words.flatMap(({ at, messageId, text }) => {
      const slice = sliceOf(text, quote);
      return slice === null ? [] : [{ quote: slice, messageId, at }];
    });
    return [
      ...found.filter((each) => cited.has(each.messageId)),
      ...found.filter((each) => !cited.has(each.messageId)),
    ];
  };
  const found = standing.flatMap(({ quotes: [all = "", ...pieces], numbers: named }) => {
    const whole = find(all, named).slice(0, 1);
    return whole.length > 0 ? whole : pieces.flatMap((piece) => find(piece, named).slice(0, 1));
  });
  const placeOf = ({ restored }: Instruction): number =>
    words.find(({ messageId }) => messageId === restored)?.at ?? -1;
  const known = [...before.filter(({ system }) => !system).map((each) => ({ ...each, at: placeOf(each) })), ...found];
  const over = ended.flatMap(({ quotes, by, numbers: named }): Placed<EndedInstruction>[] => {
    const later = by.flatMap((quote) => find(quote, named));
    return meant(known, quotes).flatMap((each) => {
      const end = later.find(({ at }) => at > each.at);
      return end === undefined ? [] : [{ ...each, by: { messageId: end.messageId, quote: end.quote } }];
    });
  });
  const isOver = (each: Instruction): boolean => over.some((other) => isSameOne(each, other));
  return {
    instructions: unique(found.filter((each) => !isOver(each)).map(withoutPlace)),
    ended: uniqueEnded(over.map(withoutPlace)),
  };
}

/** The instructions that one of the quotations means: those with its words, or else the only one of which it is a part. */
function meant<Each extends Instruction>(known: readonly Each[], quotes: readonly string[]): readonly Each[] {
  for (const quote of quotes) {
    const same = known.filter((each) => isSame(each.quote, quote));
    if (same.length > 0) return same;
    const wanted = flatten(quote);
    const parts = known.filter((each) => wanted.length > LEAST_CHARS && flatten(each.quote).includes(wanted));
    if (parts.length > 0 && new Set(parts.map((each) => flatten(each.quote))).size === 1) return parts;
  }
  return [];
}

function withoutPlace<Value>({ at: _at, ...rest }: Placed<Value>): Omit<Placed<Value>, "at"> {
  return rest;
}

/** The instructions after both parts. What the later part ended does not stand, unless a person restored it since. */
export function mergeInstructions(
  earlier: Pick<Facts, "instructions" | "ended">,
  later: Pick<Facts, "instructions" | "ended">,
): Pick<Facts, "instructions" | "ended"> {
  const isOver = (each: Instruction): boolean =>
    later.ended.some((other) => isSameOne(each, other) && each.restored !== other.by.messageId);
  const standing = unique([...earlier.instructions, ...later.instructions].filter((each) => !isOver(each)));
  const ended = uniqueEnded([...earlier.ended, ...later.ended]);
  return { instructions: standing, ended: ended.filter((each) => !standing.some((other) => isSameOne(other, each))) };
}

/** Each once. Of what was said again in the same words the last one stays, since the later holds, and of parts of one message the longest. */
export function unique(instructions: readonly Instruction[]): Instruction[] {
  return instructions.filter((each, at) => {
    const weight = weigh(each);
    return !instructions.some((other, place) => {
      if (place === at || each.system !== other.system) return false;
      if (!isSameOne(each, other)) return place > at && flatten(each.quote) === flatten(other.quote);
      return weigh(other) > weight || (weigh(other) === weight && place < at);
    });
  });
}

/** One that a person restored says more than the same one without that mark. */
function weigh({ quote, restored }: Instruction): number {
  return quote.length + (restored === undefined ? 0 : MAX_CHARS);
}

function uniqueEnded(ended: readonly EndedInstruction[]): EndedInstruction[] {
  return ended.filter((each, at) => !ended.some((other, place) => place > at && isSameOne(each, other)));
}

export function isSameOne(one: Instruction, other: Instruction): boolean {
  return one.messageId === other.messageId && isSame(one.quote, other.quote);
}

/** Whether one of two quotations is a part of the other and most of it. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [flatten(one), flatten(other)];
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  return short.length > 0 && short.length * 2 >= long.length && long.includes(short);
}

/** Characters that a model changes when it quotes: marks of Markdown, quotation marks, dashes and blanks. Others are not seen. */
const CHANGED = /[\s*_`#>"'“”„‟‘’‚‛«»‹›「」『』‐‑–—-]+/gu;
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
/** A character with its accents, or a syllable of Hangul in its letters. */
const CLUSTER = /[\u1100-\u115f]+[\u1160-\u11ff]*|\P{M}\p{M}*|\p{M}+/gu;
const LAST_STOP = /[.,;:!。、！]$/u;

function flatten(text: string): string {
  return plain(text).trim().replace(LAST_STOP, "").trim();
}

function plain(text: string): string {
  const seen = normalForm(text, "NFC").replaceAll(UNSEEN, "");
  return seen.replaceAll(CHANGED, " ").toLowerCase().replaceAll("ς", "σ");
}

/** A text with, for each character of its flat form, where its cluster begins and ends. */
interface Plain {
  readonly text: string;
  readonly flat: string;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

function plainText(text: string): Plain {
  const [from, to]: [number[], number[]] = [[], []];
  const flat: string[] = [];
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const written = plain(cluster);
    if (written === " " && (flat.at(-1) ?? " ") === " ") continue;
    if (written !== "") flat.push(written);
    for (let each = 0; each < written.length; each++) {
      from.push(index);
      to.push(index + cluster.length);
    }
  }
  return { text, flat: flat.join(""), from, to };
}

const GAP = /\s{0,9}(?:\[\s?(?:…|\.{3})\s?\]|\((?:…|\.{3})\)|…|\.{3})\s*/;
const OF_A_WORD = /[\p{L}\p{N}\p{M}]/u;
/** Scripts without blanks between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Least characters before a gap that are taken alone where what is behind the gap stands nowhere. */
const LEAST_BEFORE_GAP = 20;
/** Places that are tried for a quotation with a gap in one message. */
const MAX_TRIES = 100;

/** The words of a text that a quotation stands for, with those in its gaps. Null where they stand nowhere. */
function sliceOf(given: Plain, quote: string): string | null {
  const { text, flat, from, to } = given;
  const pieces = quote
    .split(GAP)
    .map(flatten)
    .filter((piece) => piece !== "");
  const [first = ""] = pieces;
  const all = pieces.join("");
  if (first === "" || all.length > MAX_CHARS || (all.length < LEAST_CHARS && !/\P{ASCII}/u.test(all))) return null;
  let short: string | null = null;
  let begin = findWhole(flat, first, 0);
  for (let tries = 0; begin >= 0 && tries < MAX_TRIES; tries++) {
    const near = flat.slice(0, begin + MAX_CHARS);
    let end = begin;
    for (const piece of pieces) {
      const at = end < 0 ? -1 : findWhole(near, piece, end);
      end = at < 0 ? -1 : at + piece.length;
    }
    const slice = (last: number): string => widen(text, from[begin] ?? 0, to[last - 1] ?? 0);
    if (end >= 0) return slice(end);
    if (first.length >= LEAST_BEFORE_GAP) short ??= slice(begin + first.length);
    begin = findWhole(flat, first, begin + 1);
  }
  return short;
}

/** Where a piece stands as whole words. */
function findWhole(flat: string, piece: string, after: number): number {
  for (let at = flat.indexOf(piece, after); at >= 0; at = flat.indexOf(piece, at + 1)) {
    if (!cutsWord(flat, at) && !cutsWord(flat, at + piece.length)) return at;
  }
  return -1;
}

function cutsWord(flat: string, at: number): boolean {
  const [before, behind] = [flat.charAt(at - 1), flat.charAt(at)];
  return OF_A_WORD.test(before) && OF_A_WORD.test(behind) && !UNSPACED.test(before) && !UNSPACED.test(behind);
}

/** Words that turn a sentence round, in the languages that most people write. */
const NOT =
  /(?<![\p{L}\p{M}])(?:not|cannot|never|no|without|avoid|stop|\p{L}+n['’]t|dont|nicht|nie|niemals|kein\p{L}*|ohne|ne|pas|jamais|sans|sin|nunca|jamás|não|nem|sem|non|mai|senza|niet|nooit|geen|nie|не|никогда|нельзя|без|ніколи|لا|لن|ليس|بدون|मत|नहीं|न|कभी|không|đừng|chớ|jangan|tidak|değil|asla)(?![\p{L}\p{M}])|n['’](?=\p{L})|[不别別勿没沒禁]|ない|ません|なく|않|지 ?마|말 ?것|말아/giu;
/** Where a clause begins or ends. */
const CLAUSE = /[.,;:!?\n。、，！？；：،؛؟।()]/u;
const WIDENED_CHARS = 60;

/** A slice of a text on one line, with the words of its clause that turn it round. Else a part of "never do this" would say "do this". */
function widen(text: string, from: number, to: number): string {
  const before =
    text
      .slice(Math.max(0, from - WIDENED_CHARS), from)
      .split(CLAUSE)
      .at(-1) ?? "";
  const behind = text.slice(to, to + WIDENED_CHARS).split(CLAUSE)[0] ?? "";
  const [first] = before.matchAll(NOT);
  const last = [...behind.matchAll(NOT)].at(-1);
  const begin = first === undefined ? from : from - before.length + first.index;
  const end = last === undefined ? to : to + last.index + last[0].length;
  return text.slice(begin, end).replaceAll(/\s+/g, " ").trim();
}
