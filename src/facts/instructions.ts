/**
 * Standing instructions: which words of the user hold until he ends them.
 *
 * A model reads that, and the code here checks it. The answer names each instruction as a quotation with its message. It is taken only where
 * the words stand in a message of the user. One is ended only where the answer quotes a later message of the user that does so. So nothing
 * that a tool, a page, a file or an earlier summary says can become an instruction or end one. Without an answer all stay.
 */
import type { UIMessage } from "ai";
import { ENDED_TITLE, STANDING_TITLE } from "../steps/draft/prompt.ts";
import { storedId } from "../steps/view/view.ts";
import type { EndedInstruction, Facts, Instruction } from "./fact.ts";
import { wordsOfUser } from "./said.ts";

/** Most characters of one instruction. A longer quotation is a document. */
const MAX_CHARS = 600;
const LEAST_CHARS = 3;

/** The two lists of an answer, with the summary that stands before them. */
export interface Answered {
  readonly summary: string;
  readonly standing: readonly Named[];
  readonly ended: readonly Named[];
}

/** One line of a list. */
interface Named {
  readonly quotes: readonly string[];
  /** Numbers of the transcript's messages. */
  readonly numbers: readonly number[];
}

const HEADING = /^\s{0,3}(?:#{1,6}\s+(.*)|\*\*(.*)\*\*:?\s*)$/;
const QUOTED = /"((?:[^"\\]|\\.)+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』/g;
const NUMBER = /#(\d{1,9})/g;

/** Takes the two lists out of an answer. Lines that name nothing are dropped with them. */
export function readAnswer(text: string): Answered {
  const lists = new Map<string, Named[]>([
    [STANDING_TITLE.toLowerCase(), []],
    [ENDED_TITLE.toLowerCase(), []],
  ]);
  let list: Named[] | undefined;
  const summary = text.split("\n").filter((line) => {
    const heading = HEADING.exec(line);
    if (heading !== null) {
      list = lists.get(
        (heading[1] ?? heading[2] ?? "")
          .replaceAll(/[*_#:]/g, "")
          .trim()
          .toLowerCase(),
      );
      return list === undefined;
    }
    if (list === undefined) return true;
    const named = readLine(line);
    if (named !== null) list.push(named);
    return false;
  });
  const [standing = [], ended = []] = [...lists.values()];
  return { summary: summary.join("\n").trimEnd(), standing, ended };
}

function readLine(line: string): Named | null {
  const numbers = [...line.matchAll(NUMBER)].map(([, digits]) => Number(digits));
  const quotes = [...line.matchAll(QUOTED)].map((found) => found.slice(1).find((each) => each !== undefined) ?? "");
  if (quotes.length > 0) return { quotes, numbers };
  const bare = line
    .replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .trim();
  return bare === "" || line.trim() === "None." ? null : { quotes: [bare], numbers };
}

/** What a model was shown when it named instructions. */
export interface Shown {
  readonly messages: readonly UIMessage[];
  /** The numbers of the transcript and the ids of its messages. */
  readonly numbers: ReadonlyMap<number, string>;
  /** The instructions that held before. */
  readonly before: readonly Instruction[];
}

/** The instructions of an answer that stand in the user's messages, and those that a later message of the user ended. */
export function checkInstructions(
  { standing, ended }: Pick<Answered, "standing" | "ended">,
  { messages, numbers, before }: Shown,
): Pick<Facts, "instructions" | "ended"> {
  const words = messages.flatMap((message, at) => {
    const text = wordsOfUser(message);
    return text === "" ? [] : [{ at, messageId: storedId(message.id), text: plainText(text) }];
  });
  const find = ([quote = ""]: readonly string[], named: readonly number[]): (Instruction & { at: number }) | null => {
    const cited = new Set(named.flatMap((number) => numbers.get(number) ?? []));
    const first = words.filter(({ messageId }) => cited.has(messageId));
    for (const { at, messageId, text } of [...first, ...words]) {
      const found = sliceOf(text, quote);
      if (found !== null) return { quote: found, messageId, at };
    }
    return null;
  };
  const found = standing.flatMap(({ quotes, numbers: named }) => find(quotes, named) ?? []);
  const known = [...before.map((each) => ({ ...each, at: -1 })), ...found];
  const over = ended.flatMap(({ quotes, numbers: named }): (EndedInstruction & { at: number })[] => {
    const [old = "", ...rest] = quotes;
    const by = find(rest, named);
    if (by === null) return [];
    const ends = known.filter((each) => isSame(each.quote, old) && each.at < by.at);
    return ends.map((each) => ({ ...each, by: { messageId: by.messageId, quote: by.quote } }));
  });
  const isOver = (each: Instruction): boolean => over.some((other) => isSameOne(each, other));
  return {
    instructions: unique(found.filter((each) => !isOver(each))).map(withoutPlace),
    ended: over.map(withoutPlace),
  };
}

function withoutPlace<Value extends { at: number }>({ at: _at, ...rest }: Value): Omit<Value, "at"> {
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

function unique<Each extends Instruction>(instructions: readonly Each[]): Each[] {
  return instructions.filter(
    (each, at) => !instructions.some((other, place) => place < at && isSame(each.quote, other.quote)),
  );
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

/** Characters that a model changes when it quotes: marks of Markdown, quotation marks, dashes and blanks. */
const CHANGED = /[\s*_`#>"'“”„‘’«»「」『』–—-]+/gu;

function flatten(text: string): string {
  return text
    .replaceAll(CHANGED, " ")
    .trim()
    .toLowerCase()
    .replace(/[.,;:!。、！]$/u, "");
}

/** A text with, for each character of its flat form, where it stands. */
interface Plain {
  readonly text: string;
  readonly flat: string;
  readonly places: readonly number[];
}

function plainText(text: string): Plain {
  const places: number[] = [];
  let flat = "";
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    const isChanged = /[\s*_`#>"'“”„‘’«»「」『』–—-]/u.test(character);
    if (isChanged && (flat === "" || flat.endsWith(" "))) continue;
    const written = isChanged ? " " : character.toLowerCase();
    flat += written;
    for (let each = 0; each < written.length; each++) places.push(at);
  }
  return { text, flat, places };
}

/** The words of a text that a quotation stands for. A quotation with a gap is taken up to the gap. Null where it stands nowhere. */
function sliceOf({ text, flat, places }: Plain, quote: string): string | null {
  const first = quote.split(/\s*(?:\[?…\]?|\.{3})\s*/).find((piece) => piece.trim() !== "") ?? "";
  const wanted = flatten(first);
  if (wanted.length < LEAST_CHARS && !/\P{ASCII}/u.test(wanted)) return null;
  const at = wanted === "" ? -1 : flat.indexOf(wanted);
  if (at < 0 || wanted.length > MAX_CHARS) return null;
  const from = places[at] ?? 0;
  const end = (places[at + wanted.length - 1] ?? from) + 1;
  return text.slice(from, end).replaceAll(/\s+/g, " ").trim();
}
