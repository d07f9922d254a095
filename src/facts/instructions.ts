/**
 * Standing instructions: which words of the user hold until he ends them.
 *
 * A model reads that, and the code here checks it. The answer names each instruction as a quotation with its message. It is taken only where
 * the words stand in a message of the user. One is ended only where the answer quotes a later message of the user that does so. So nothing
 * that a tool, a page, a file or an earlier summary says can become an instruction or end one. Without an answer all stay.
 */
import type { UIMessage } from "ai";
import { LIST_MARK, normalForm } from "../steps/text/text.ts";
import { ENDED_TITLE, normalizeTitle, STANDING_TITLE } from "../steps/draft/prompt.ts";
import { storedId } from "../steps/view/view.ts";
import { isNothing } from "../steps/draft/audit.ts";
import type { EndedInstruction, Facts, Instruction } from "./fact.ts";
import { cutsWord, ownWords, wholeWords, withoutMiddle } from "./said.ts";

/** Most characters of one instruction that are shown, and of a quotation that is read. */
const MAX_CHARS = 600;
const MAX_QUOTED = 4_000;
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

const HEADING = /^ {0,3}(?:#{1,6}[ \t]|\*\*.*\*\*[:：]?$)/;
/** A line over a list, in whatever form. */
const OVER_LIST = /^\s*(?:#|\*\*)|[:：]\s*$/;
/** Bounded, because a mark may have no other. A piece holds no mark that begins it, or a text of such marks would be read for each. */
const QUOTED =
  /"((?:[^"\\]|\\.){1,700})"|“([^“”]{1,700})”|„([^„“”]{1,700})[“”]|«([^«»]{1,700})»|「([^「」]{1,700})」|『([^『』]{1,700})』/g;
const FIRST_MARK = /["“„«「『]/;
const LAST_MARK = /["”“»」』][^"”“»」』]*$/;
const ENDED_BY = / ended by /i;
const NUMBER = /#(\d{1,9})/g;
/** Behind the last quotation of an entry stand its references alone. */
const REFERENCES = /^[\s.,;、。[\](（)）【】#\d]*$/;

/**
 * Takes the two lists out of an answer, with their lines that name nothing. What follows a list as prose stays. A list is known by its title.
 * Where an answer has none of the template's `titles`, those of the lists may be in another language, too. Then a list is known by its place
 * and its form, and where each line of it is what the user said in a message that it names.
 */
export function readAnswer(text: string, titles: readonly string[] = [], shown?: Shown): Answered {
  const lists: Record<"standing" | "ended", string[]> = { standing: [], ended: [] };
  let list: string[] | undefined;
  let before = "";
  const lines = text.split(/\r?\n/).filter((line) => {
    // Some models number their headings, or say more in brackets.
    const title = normalizeTitle(line.replace(/^(#{1,6} )\d{1,2}[.)] /, "$1").replace(/ \([^()]{1,40}\)\s{0,9}$/, ""));
    const own = title === STANDING ? lists.standing : title === ENDED ? lists.ended : undefined;
    const isHeading = own !== undefined || HEADING.test(line.trimEnd());
    if (isHeading || (before.trim() === "" && isProse(line) && list?.some((each) => each.trim() !== ""))) list = own;
    else list?.push(line);
    before = line;
    return own === undefined && list === undefined;
  });
  const known = new Set([...titles.map(normalizeTitle), STANDING, ENDED]);
  const isTranslated = !text.split(/\r?\n/).some((line) => known.has(normalizeTitle(line)));
  if (shown !== undefined && isTranslated) {
    const find = finderIn(shown);
    const take = (): string[] => lastList(lines, (line) => isOfUser(line, shown.before, find));
    for (const some of [take(), take()])
      lists[some.every((line) => readQuotes(line).length > 2) ? "ended" : "standing"].push(...some);
  }
  const [standing = [], ended = []] = [lists.standing, lists.ended].map((some) =>
    some
      .filter((line) => !isNothing(line))
      .slice(0, MAX_NAMED)
      .map(readLine),
  );
  return { summary: lines.join("\n").trimEnd(), standing, ended };
}

const [STANDING, ENDED] = [normalizeTitle(STANDING_TITLE), normalizeTitle(ENDED_TITLE)];

/** Whether a line is neither an item nor a quotation. */
function isProse(line: string): boolean {
  return /^\S/.test(line) && !LIST_MARK.test(line) && line.search(FIRST_MARK) !== 0;
}

/** Takes the list at the end of `lines`, in which each line is a quotation with its message. Empty where there is none. */
function lastList(lines: string[], isTaken: (entry: string) => boolean): string[] {
  let from = lines.length;
  while (from > 0 && (lines[from - 1]?.trim() === "" || isEntry(lines[from - 1] ?? ""))) from--;
  const entries = lines.slice(from).filter(isEntry);
  const isTitled = HEADING.test(lines[from - 1]?.trimEnd() ?? "");
  if (!isTitled || entries.length === 0 || entries.length > MAX_NAMED || !entries.every(isTaken)) return [];
  lines.length = from - 1;
  return entries;
}

/** Whether all that an entry quotes is said or known, and the last of it in a message that it names. A question is no instruction. */
function isOfUser(entry: string, known: readonly Instruction[], find: Find): boolean {
  const line = readLine(entry);
  const { quotes, by } = line;
  const stands = ([all = "", ...pieces]: readonly string[], mustName: boolean): boolean =>
    [[all], pieces].some((some) => some.length > 0 && some.every((each) => find(each, line, mustName).length > 0));
  if (quotes.some((each) => /[?？؟]\s*$/.test(each))) return false;
  if (by.length === 0) return stands(quotes, true);
  return stands(by, true) && quotes.some((each) => meant(known, [each]).length > 0 || find(each, line).length > 0);
}

function isEntry(line: string): boolean {
  const bare = line.trim().replace(LIST_MARK, "");
  const behind = bare.slice(bare.search(LAST_MARK) + 1);
  return bare.search(FIRST_MARK) === 0 && REFERENCES.test(behind) && /#\d/.test(behind);
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
    .trim()
    .replace(LIST_MARK, "")
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

/** Finds where a quotation stands. Places in messages that its line names come first, and stand alone where it must name them. */
type Find = (quote: string, line: Named, mustName?: boolean) => Placed<Instruction>[];

function finderIn({ messages, numbers }: Shown): Find {
  const words = messages.flatMap((message, at) => {
    const text = ownWords(message);
    return text === "" ? [] : [{ at, messageId: storedId(message.id), text: plainText(text) }];
  });
  return (quote, line, mustName = false) => {
    const found = words.flatMap(({ at, messageId, text }) => {
      const slice = sliceOf(text, quote);
      return slice === null ? [] : [{ quote: slice, messageId, at }];
    });
    const named = new Set(line.numbers.flatMap((number) => numbers.get(number) ?? []));
    const [cited = [], others = []] = [true, false].map((is) =>
      found.filter((each) => named.has(each.messageId) === is),
    );
    return mustName ? cited : [...cited, ...others];
  };
}

/** The instructions of an answer that stand in the user's messages, and those that a later message of the user ended. */
export function checkInstructions(
  { standing, ended }: Pick<Answered, "standing" | "ended">,
  shown: Shown,
): Pick<Facts, "instructions" | "ended"> {
  const { messages, before } = shown;
  const find = finderIn(shown);
  const found = standing.flatMap((line) => {
    const [all = "", ...pieces] = line.quotes;
    const whole = find(all, line).slice(0, 1);
    return whole.length > 0 ? whole : pieces.flatMap((piece) => find(piece, line).slice(0, 1));
  });
  const ids = messages.map(({ id }) => storedId(id));
  const placeOf = ({ messageId, restored }: Instruction): number =>
    ids.findLastIndex((id) => id === messageId || id === restored);
  const known = [...before.filter(({ system }) => !system).map((each) => ({ ...each, at: placeOf(each) })), ...found];
  const over = ended.flatMap((line): Placed<EndedInstruction>[] => {
    const later = line.by.flatMap((quote) => find(quote, line, true));
    return meant(known, line.quotes).flatMap((each) => {
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
/** Within a word. A model puts it right. */
const APOSTROPHE = /(?<=\p{L})['’](?=\p{L})/gu;
/** A character with its accents, or a syllable of Hangul in its letters. */
const CLUSTER = /[\u1100-\u115f]+[\u1160-\u11ff]*|\P{M}\p{M}*|\p{M}+/gu;
const LAST_STOP = /[.,;:!。、！]$/u;

function flatten(text: string): string {
  return plain(text).trim().replace(LAST_STOP, "").trim();
}

function plain(text: string): string {
  const seen = normalForm(text, "NFC").replaceAll(UNSEEN, "").replaceAll(APOSTROPHE, "");
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
  const unseen = new Set(Array.from(text.matchAll(APOSTROPHE), ({ index }) => index));
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const written = unseen.has(index) ? "" : plain(cluster);
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
  // An answer such as "ok" means what was asked before, where it is all of a message.
  const isShort = all.length < LEAST_CHARS && !/\P{ASCII}/u.test(all) && all !== flatten(text);
  if (first === "" || all.length > MAX_QUOTED || isShort) return null;
  let short: string | null = null;
  let begin = findWhole(flat, first, 0);
  for (let tries = 0; begin >= 0 && tries < MAX_TRIES; tries++) {
    const near = flat.slice(0, begin + Math.max(MAX_CHARS, all.length * 2));
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

/** The mark of an item of a list. */
const MARK = String.raw`(?:(?:[-*+•–‣◦▪●]|\d{1,3}[.)])[ \t]+|(?:・|\d{1,3}、)[ \t]*)`;
/** A mark that may end a sentence, with what it closes, or the end of a line with the mark of an item behind it. */
const END = new RegExp(
  String.raw`[.!?]+[\p{Pe}\p{Pf}"'*_${"`"}]*(?=\s|$)|(?![.!?])\p{Sentence_Terminal}[\p{Pe}\p{Pf}]*|[ \t]*\n\s*(?:>[ \t]*)?${MARK}?`,
  "gu",
);
const NEW_BLOCK = /\n[^\n]*\n|[^\s>]/;
/** Where a clause begins or ends. After such a mark at the end of a line the sentence goes on. */
const CLAUSE = /[,;:(–—、，：；，،؛]/;
const ITEM = new RegExp(String.raw`^([>\s]*)${MARK}(.*)$`);
/** Characters around a quotation in which its sentence is looked for, of each end of a long one, and of the line over a list. */
const NEAR_CHARS = 10_000;
const EDGE_CHARS = 120;
const LEAD_CHARS = 300;

/**
 * The sentence in which a slice stands, on one line, behind the lines that it stands under. Else a part of "do not, ever, do this" would say "do
 * this". In doubt a mark ends none, because a neighbour turns nothing round, and a "not" that is cut off does.
 */
function widen(text: string, from: number, to: number): string {
  const start = Math.max(0, from - NEAR_CHARS);
  const near = text.slice(start, to + NEAR_CHARS);
  let [begin, end, last] = [0, near.length, 0];
  for (const { index, 0: mark } of near.matchAll(END)) {
    const isLine = mark.includes("\n");
    if (isLine ? !endsLine(near, index, mark) : !endsSentence(near, last, index, mark)) continue;
    last = index + mark.length;
    if (start + index < from) begin = Math.min(last, from - start);
    // What follows a question says what it is for.
    if (start + index < to || /[?？؟]/.test(mark)) continue;
    end = isLine ? index : last;
    break;
  }
  const place = { from: from - start - begin, to: to - start - begin };
  const sentence = fitSentence(near.slice(begin, end), place).replaceAll(/\s+/g, " ").trim();
  return [...leadsOf(near.slice(0, begin)), ITEM.exec(sentence)?.[2] ?? sentence].join(" […] ");
}

/** What is no word: a number of an item, one letter, several with full stops between, or consonants alone behind a word. */
const NO_WORD = /(?:^|[\s(])(?:\d{1,3}|\p{L}(?:\.\p{L})*)$|\S[\s(]{1,2}[A-Z]?[b-df-hj-np-tv-xz]{1,5}$/u;
const BRIEF_WORD = /(?<!\p{L}{3})\p{L}$/u;
/** A short word with a capital within a sentence, as in "see Fig. 3" or "ask Prof. Ada". */
const BRIEF_NAME = /\S[\s(]{1,2}\p{Lu}\p{Ll}{1,3}$/u;

/**
 * A small letter ends no sentence that began with a capital. Neither does a number, nor anything behind what may be a word cut short. In doubt
 * a stop ends none, because a neighbour turns nothing round.
 */
function endsSentence(text: string, from: number, at: number, mark: string): boolean {
  if (!mark.startsWith(".")) return true;
  const before = text.slice(Math.max(from, at - 12), at);
  const behind = text.slice(at + mark.length, at + mark.length + 20).trimStart();
  if (mark.startsWith("..") || NO_WORD.test(before)) return false;
  if (behind !== "" && (BRIEF_NAME.test(before) || /^(?:\p{N}|[IVXLCDM]{2,}(?!\p{L}))/u.test(behind))) return false;
  if (/^(?:\p{Ll}|\p{Lu}(?!\p{Ll}))/u.test(behind) && BRIEF_WORD.test(before)) return false;
  return !(/^\p{Ll}/u.test(behind) && /^\P{L}{0,20}\p{Lu}\p{L}/u.test(text.slice(from, from + 24)));
}

function endsLine(text: string, at: number, mark: string): boolean {
  const before = text.charAt(at - 1);
  return (
    NEW_BLOCK.test(mark) || !(CLAUSE.test(before) || (!/\p{Sentence_Terminal}/u.test(before) && goesOn(text, at, mark)))
  );
}

/** Whether what stands behind a mark begins small after a line that began with a capital, as a wrapped line does. */
function goesOn(text: string, at: number, mark: string): boolean {
  const behind = at + mark.length;
  if (!/^[ \t\u00a0]{0,20}\p{Ll}/u.test(text.slice(behind, behind + 24))) return false;
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[^\p{L}]{0,20}\p{Lu}/u.test(line);
}

/** A long sentence with its beginning, its end, and the clauses around a slice, because any of them may turn it round. */
function fitSentence(sentence: string, { from, to }: Readonly<Record<"from" | "to", number>>): string {
  const room = MAX_CHARS - 2 * EDGE_CHARS - (to - from);
  if (sentence.length <= MAX_CHARS || room < 0) return withoutMiddle(sentence, MAX_CHARS).text;
  const left = Math.max(0, from - Math.floor(room / 2));
  const before = sentence.slice(left, from);
  const behind = sentence.slice(to, left + to - from + room);
  const begin = from - before.length + (before.search(CLAUSE) + 1 || before.length);
  const end = to + behind.split(CLAUSE).slice(0, -1).join(" ").length;
  const first = begin <= EDGE_CHARS ? sentence.slice(0, begin) : `${wholeWords(sentence, 0, EDGE_CHARS)} […] `;
  const last =
    sentence.length - end <= EDGE_CHARS
      ? sentence.slice(end)
      : ` […] ${wholeWords(sentence, sentence.length - EDGE_CHARS, sentence.length)}`;
  return first + sentence.slice(begin, end) + last;
}

/** The lines that a line or an item of a list stands under, outermost first. `before` is the text up to its words. */
function leadsOf(before: string): string[] {
  const [own = "", ...above] = before.split("\n").toReversed();
  const indent = ITEM.exec(own)?.[1]?.length;
  const leads = indent === undefined ? overLine(above) : overItem(above, indent);
  return leads.map((line) => withoutMiddle((ITEM.exec(line)?.[2] ?? line).replace(/^#+/, "").trim(), LEAD_CHARS).text);
}

/** The line over a block of lines that are no list, also with a blank line between. */
function overLine(above: readonly string[]): string[] {
  const at = above.findIndex((line) => line.trim() === "" || OVER_LIST.test(line) || ITEM.test(line));
  return above
    .slice(Math.max(0, at), at + 2)
    .filter((line) => line.trim() !== "")
    .slice(0, 1)
    .filter((line) => OVER_LIST.test(line));
}

function overItem(above: readonly string[], own: number): string[] {
  const leads: string[] = [];
  let indent = own;
  for (const [at, line] of above.entries()) {
    const blanks = ITEM.exec(line)?.[1]?.length;
    if (blanks !== undefined && blanks < indent) leads.unshift(line);
    if (blanks !== undefined) indent = Math.min(indent, blanks);
    // A line behind an item goes on with it.
    if (blanks !== undefined || /^(?:[\s>]|$)/.test(line)) continue;
    // Behind an item it may go on with it, or begin a list of its own. Small letters may do either.
    if (!OVER_LIST.test(line) && ITEM.test(above[at + 1] ?? "")) {
      leads.unshift(line);
      if (/^[^\p{L}]{0,20}\p{Ll}/u.test(line)) continue;
    } else leads.unshift(...overBlock(above.slice(at)));
    break;
  }
  return leads;
}

/** The paragraph with which `above` begins, behind the heading that it stands under itself. */
function overBlock(above: readonly string[]): string[] {
  if (/^\s*#/.test(above[0] ?? "")) return above.slice(0, 1);
  const end = above.findIndex((line, at) => line.trim() === "" || (at > 0 && (ITEM.test(line) || HEADING.test(line))));
  const lines = end === -1 ? above : above.slice(0, end);
  const over = above.slice(lines.length).find((line) => line.trim() !== "") ?? "";
  return [...(HEADING.test(over) ? [over] : []), lines.toReversed().join(" ")];
}
