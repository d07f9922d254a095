/**
 * Cuts messages into passages of a few lines, chooses passages for an answer within a token budget, and quotes them.
 *
 * It is deterministic and needs no storage. docs/decisions/0017 explains the ranking and its measurements.
 */
import type { UIMessage } from "ai";
import { escapeLines, parseTranscript, renderTranscript, type Block } from "../steps/draft/render.ts";
import { referenceTo } from "../steps/message/message.ts";
import { normalForm, Pace, type Slices } from "../steps/text/text.ts";
import {
  NEAR_SHARES,
  type Match,
  AS_WRITTEN,
  formsOfText,
  isUnspaced,
  languageOf,
  wordsOfText,
  type Language,
} from "./question.ts";

/** A message as it is stored, and its place in the conversation. */
export interface Original {
  readonly seq: number;
  readonly message: UIMessage;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** A message in blocks, and the blocks in passages. */
export interface ReadMessage extends Original {
  readonly blocks: readonly Block[];
  readonly passages: readonly Passage[];
  /** True when the passages cover the whole message. */
  readonly isAll: boolean;
}

export interface Passage {
  readonly seq: number;
  /** The index of its block in the message, and its character range in that block. */
  readonly block: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly language: Language;
}

/**
 * Characters of a passage, in whole lines. A short message is one passage. A line of twice the length is split at a
 * blank.
 */
const PASSAGE_CHARS = 250;
/**
 * Characters read of one part of a message, from its beginning and end. A later constant bounds the passages of all its
 * parts.
 */
const MAX_PART_CHARS = 300_000;
/** A part that was cut is at most this much shorter than the limit. */
const MAX_PART_NOTE_CHARS = 100;
const MAX_PASSAGES = 2_000;
/** BM25 parameters: how fast repeated words saturate, and how much the length of a passage counts. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.75;

/** How much more a passage counts whose speaker the question names. */
const SPEAKER_SHARE = 2;
/** A name is a speaker's if it opens this many of the messages. */
const LEAST_TURNS = 3;
/** Characters at the beginning of a message in which its speaker is named. */
const LABEL_CHARS = 80;
/** A name before a colon, as in "Ann: …", "[10:15] Ann: …" or "**Ann**: …". */
const LABEL =
  /(?:^|[\s\])*>-])(\p{L}[\p{L}\p{M}'’.-]*(?: \p{L}[\p{L}\p{M}'’.-]*){0,2})(?:\*\*|\s*\([^()]*\))?\s?:(?![\d/])/u;

/** Characters of passages read in one piece before other work may run, about ten milliseconds' worth. */
export const PASSAGES_PIECE_CHARS = 64_000;
/** The cost in characters of looking at a passage without reading its text, a few comparisons. */
const GLANCE_CHARS = 4;

/** The most passages considered in a choice. No answer has so many. */
const MAX_CHOICE = 3_000;
/** A passage that shares this much of its words with a chosen one repeats it. A short passage may repeat on purpose. */
const SAME_SHARE = 0.9;
const LEAST_SAME_CHARS = 80;

const LIMITS = { toolChars: MAX_PART_CHARS, textChars: MAX_PART_CHARS, reasoningChars: MAX_PART_CHARS };

/** Cuts a message into passages, in order. */
export function cutMessage(original: Original): ReadMessage {
  const { seq, message } = original;
  const blocks = parseTranscript(renderTranscript([{ kind: "message", message }], LIMITS))[0]?.blocks ?? [];
  // A block that was cut is hardly shorter than the limit.
  const isAll = blocks.every(({ text }) => text.length < MAX_PART_CHARS - MAX_PART_NOTE_CHARS);
  const passages: Passage[] = [];
  for (const [block, { text }] of blocks.entries()) {
    const language = languageOf(text);
    for (const [from, to] of cutText(text)) {
      if (passages.length === MAX_PASSAGES) return { ...original, blocks, passages, isAll: false };
      passages.push({ seq, block, from, to, text: text.slice(from, to), language });
    }
  }
  return { ...original, blocks, passages, isAll };
}

/** Whole lines, together some hundred characters. */
function* cutText(text: string): Generator<[from: number, to: number]> {
  let from = 0;
  for (let to = 0; to < text.length;) {
    const line = text.indexOf("\n", to);
    const end = line === -1 ? text.length : line + 1;
    if (to > from && end - from > PASSAGE_CHARS) {
      yield [from, to];
      from = to;
    }
    to = end;
    while (to - from > 2 * PASSAGE_CHARS) {
      const blank = text.lastIndexOf(" ", from + PASSAGE_CHARS);
      const cut = blank > from ? blank + 1 : whole(text, from + PASSAGE_CHARS);
      yield [from, cut];
      from = cut;
    }
  }
  if (from < text.length) yield [from, text.length];
}

/** The position, or the next one if it is inside a surrogate pair. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

/** How well each passage and its neighbours match the asks. 1 when a passage has all of them once. */
export function* weighPassages(passages: readonly Passage[], matches: readonly Match[]): Slices<Float64Array> {
  const worth = new Float64Array(passages.length);
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  const read = yield* readAll(passages, pace);
  const length = read.reduce((sum, { count }) => sum + count, 0) / Math.max(1, passages.length);
  let total = 0;
  for (const match of matches) {
    const own = new Float64Array(passages.length);
    total += match.weight;
    const count = countIn(match);
    for (const [at, forms] of read.entries()) {
      const often = count(forms, passages[at]);
      if (pace.isOver(match.phrase === null ? GLANCE_CHARS : (passages[at]?.text.length ?? 0))) yield;
      const long = 1 - LENGTH_SHARE + (LENGTH_SHARE * forms.count) / length;
      own[at] = (match.weight * often * (SATURATION + 1)) / (often + SATURATION * long);
    }
    for (const [at, share] of spread(passages, own).entries()) worth[at] = (worth[at] ?? 0) + share;
  }
  if (total === 0) return worth;
  const share = yield* speakerShares(passages, matches, pace);
  return worth.map((each, at) => (each / total) * share(at));
}

/** Gives what each passage is worth to those near it as well, by their shares. A passage keeps the most that it gets. */
export function spread(passages: readonly Passage[], worth: Float64Array): Float64Array {
  const steps = stepsOf(passages);
  const best = new Float64Array(passages.length);
  for (const [at, own] of worth.entries()) {
    if (own === 0) continue;
    const end = Math.min(passages.length, at + NEAR_SHARES.length);
    for (let other = Math.max(0, at - NEAR_SHARES.length + 1); other < end; other++) {
      const share = NEAR_SHARES[Math.abs((steps[other] ?? 0) - (steps[at] ?? 0))] ?? 0;
      best[other] = Math.max(best[other] ?? 0, own * share);
    }
  }
  return best;
}

/**
 * The factor of each passage, which is higher if its message is by the one speaker whom the asks name. Messages name
 * their speaker before a colon where roles do not tell who speaks.
 */
function* speakerShares(
  passages: readonly Passage[],
  matches: readonly Match[],
  pace: Pace,
): Slices<(at: number) => number> {
  const asked = new Set(matches.map(({ word }) => word));
  const turns = new Map<string, Set<number>>();
  for (const { seq, block, from, text } of passages) {
    if (pace.isOver(text.length)) yield;
    if (block > 0 || from > 0) continue;
    const label = LABEL.exec(text.slice(0, LABEL_CHARS))?.[1];
    for (const word of label === undefined ? [] : wordsOfText(label)) {
      if (asked.has(word)) turns.set(word, (turns.get(word) ?? new Set()).add(seq));
    }
  }
  const [own, ...others] = [...turns.values()].filter(({ size }) => size >= LEAST_TURNS);
  if (own === undefined || others.length > 0) return () => 1;
  return (at) => (own.has(passages[at]?.seq ?? Number.NaN) ? 1 + SPEAKER_SHARE : 1);
}

function* readAll(passages: readonly Passage[], pace: Pace): Slices<Forms[]> {
  const read: Forms[] = [];
  for (const passage of passages) {
    read.push(readForms(passage));
    if (pace.isOver(passage.text.length)) yield;
  }
  return read;
}

/** Numbers that differ by one between adjacent passages, and by more than any share reaches across a gap. */
function stepsOf(passages: readonly Passage[]): number[] {
  let step = 0;
  return passages.map(({ seq }, at) => {
    const before = passages[at - 1];
    if (before !== undefined) step += seq - before.seq > 1 ? NEAR_SHARES.length : 1;
    return step;
  });
}

interface Forms {
  readonly often: ReadonlyMap<string, number>;
  /** The words as they are written. */
  readonly written: ReadonlyMap<string, number>;
  readonly count: number;
}

/** An escaped line break, as in the JSON of a call. */
const ESCAPES = /\\[ntr"]/g;

function readForms(passage: Passage): Forms {
  const text = passage.text.replaceAll(ESCAPES, " ");
  const forms = formsOfText(text, passage.language);
  return { often: tally(forms), written: tally(formsOfText(text, AS_WRITTEN)), count: forms.length };
}

function tally(forms: readonly string[]): Map<string, number> {
  const often = new Map<string, number>();
  for (const form of forms) often.set(form, (often.get(form) ?? 0) + 1);
  return often;
}

/** The text's words with a blank before each, to compare adjacent words. */
function lineOf(text: string): string {
  const words = wordsOfText(text.replaceAll(ESCAPES, " ")).join(" ");
  return ` ${normalForm(words, "NFD").replaceAll(/\p{M}/gu, "")} `;
}

/** Returns a function that counts how often a passage matches the ask. */
function countIn({ word, forms, phrase }: Match): (read: Forms, passage: Passage | undefined) => number {
  if (phrase === null) {
    const bare = AS_WRITTEN.stem(word);
    return ({ often, written }) =>
      forms.reduce((sum, form) => sum + (often.get(form) ?? 0), 0) || (written.get(bare) ?? 0);
  }
  const line = lineOf(phrase.text);
  const sought = isUnspaced(phrase.text) ? line.trim() : phrase.isBeginning ? line.trimEnd() : line;
  return (_, passage) => (lineOf(passage?.text ?? "").includes(sought) ? 1 : 0);
}

export interface Choice {
  /** The result of {@link weighPassages}, by passage. */
  readonly worth: Float64Array;
  /** Token budget of all chosen passages. */
  readonly budget: number;
  /** The tokens that a passage adds when passages of these messages are already chosen. */
  readonly costOf: (passage: Passage, chosen: ReadonlySet<number>) => number;
}

/**
 * Chooses the passages that match best, best first. None repeats another. Those that differ from a chosen one in their numbers alone, as
 * lines of a log do, have what is left of the budget.
 */
export function* choosePassages(
  passages: readonly Passage[],
  { worth, budget, costOf }: Choice,
): Slices<readonly Passage[]> {
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  const sorted = [...worth.keys()].filter((at) => (worth[at] ?? 0) > 0);
  sorted.sort((a, b) => (worth[b] ?? 0) - (worth[a] ?? 0) || b - a);
  const taken: Passage[] = [];
  const alike: Passage[] = [];
  const seqs = new Set<number>();
  const known = { shapes: new Array<ReadonlySet<string>>(), texts: new Array<ReadonlySet<string>>() };
  let left = budget;
  const take = (passage: Passage, text: string): void => {
    const cost = costOf(passage, seqs);
    if (cost > left) return;
    left -= cost;
    taken.push(passage);
    seqs.add(passage.seq);
    known.texts.push(new Set(wordsOfText(text)));
    known.shapes.push(new Set(wordsOfText(shapeOf(text))));
  };
  for (const passage of sorted.slice(0, MAX_CHOICE).flatMap((at) => passages[at] ?? [])) {
    const { text } = passage;
    if (pace.isOver(text.length)) yield;
    if (isAmong(known.shapes, shapeOf(text))) alike.push(passage);
    else take(passage, text);
  }
  for (const passage of alike) {
    const { text } = passage;
    if (pace.isOver(text.length)) yield;
    if (!isAmong(known.texts, text)) take(passage, text);
  }
  return taken;
}

/** The text without its numbers. Lines of a log have one shape. */
function shapeOf(text: string): string {
  return text.replaceAll(/\p{N}+/gu, "#");
}

/** A message without its numbers. Null for one that is short enough to say the same on purpose. */
export function shapeOfMessage({ blocks }: ReadMessage): string | null {
  const shape = shapeOf(blocks.map(({ kind, text }) => `${kind} ${text}`).join("\n"));
  return shape.length < LEAST_SAME_CHARS ? null : shape;
}

function isAmong(known: readonly ReadonlySet<string>[], text: string): boolean {
  if (text.length < LEAST_SAME_CHARS) return false;
  const words = new Set(wordsOfText(text));
  return known.some((each) => {
    const [less, more] = each.size < words.size ? [each, words] : [words, each];
    return sharesMost(less, more);
  });
}

function sharesMost(less: ReadonlySet<string>, more: ReadonlySet<string>): boolean {
  let missing = less.size - SAME_SHARE * more.size;
  for (const word of less) {
    if (missing < 0) return false;
    if (!more.has(word)) missing--;
  }
  return missing >= 0;
}

/** A message with the passages of it to quote. */
export interface Shown {
  readonly read: ReadMessage;
  readonly passages: readonly Passage[];
}

/** The beginning and the end of a message, of that many characters in all. */
export function endsOf({ passages }: ReadMessage, chars: number): Passage[] {
  const upTo = (list: readonly Passage[], most: number, cut: (each: Passage, left: number) => Passage): Passage[] => {
    let left = most;
    const taken: Passage[] = [];
    for (const each of list) {
      if (left <= 0) break;
      taken.push(each.text.length <= left ? each : cut(each, left));
      left -= each.text.length;
    }
    return taken;
  };
  const slice = (each: Passage, from: number, to: number): Passage => ({
    ...each,
    from: each.from + from,
    to: each.from + to,
    text: each.text.slice(from, to),
  });
  const first = upTo(passages, Math.ceil((2 * chars) / 3), (each, left) => slice(each, 0, whole(each.text, left)));
  const rest = passages.slice(first.length).toReversed();
  const last = upTo(rest, Math.floor(chars / 3), (each, left) =>
    slice(each, whole(each.text, each.text.length - left), each.text.length),
  );
  return [...first, ...last.toReversed()];
}

const GAP = "[…]";
/** Replaces a message without any part that can be shown as text. */
const NOTHING = "(nothing that can be read)";
const WHOLE = { toolChars: Infinity, textChars: Infinity, reasoningChars: Infinity };

/** The day of a message, as its header shows it. */
function dayOf({ createdAt }: Original): string {
  return new Date(createdAt).toISOString().slice(0, 10);
}

/** The header of a message that is shown by itself. */
export function headerOf(read: Original): string {
  return `[${referenceTo(read.message.id)} ${read.message.role}, ${dayOf(read)}]`;
}

/**
 * Quotes messages in the order of `seq`, and names those that are quoted only in part:
 *
 *     [@0a1b2c3 user, 2026-01-31]
 *     What did we promise them?
 *     [assistant]
 *     Friday.
 *     [@4d5e6f7 assistant, 240 of 51234 characters]
 *     […]
 *     what was looked for
 *     […]
 *
 * Consecutive messages share one reference, and a day is shown only where it changes, because most messages are shorter than both. No line
 * of a message can pose as the header of another.
 */
export function quote(shown: readonly Shown[]): { readonly text: string; readonly clipped: ReadonlySet<number> } {
  const lines: string[] = [];
  const clipped = new Set<number>();
  let [lastDay, last] = ["", Number.NaN];
  for (const { read, passages } of shown) {
    const day = dayOf(read);
    const isWhole = isWholeShown(read, passages);
    if (!isWhole) clipped.add(read.seq);
    const named = [read.message.role, ...(day === lastDay ? [] : [day]), ...(isWhole ? [] : [sizeOf(read, passages)])];
    const follows = read.seq - last === 1 && day === lastDay && isWhole;
    lines.push(`[${follows ? "" : `${referenceTo(read.message.id)} `}${named.join(", ")}]`);
    lines.push(isWhole ? wholeText(read) : partText(read, passages));
    [lastDay, last] = [day, read.seq];
  }
  return { text: lines.join("\n"), clipped };
}

function isWholeShown({ isAll, passages: all }: ReadMessage, passages: readonly Passage[]): boolean {
  return isAll && passages.length === all.length && passages.every((each, at) => each === all[at]);
}

function sizeOf({ blocks, isAll }: ReadMessage, passages: readonly Passage[]): string {
  const shown = passages.reduce((sum, { from, to }) => sum + to - from, 0);
  return `${shown} of ${isAll ? "" : "more than "}${blocks.reduce((sum, { text }) => sum + text.length, 0)} characters`;
}

/** A message word for word. */
export function wholeText({ message }: Pick<Original, "message">): string {
  const rendered = renderTranscript([{ kind: "message", message }], WHOLE);
  return rendered.includes("\n") ? escapeHeaders(rendered.slice(rendered.indexOf("\n") + 1)) : NOTHING;
}

function partText({ blocks, passages: all }: ReadMessage, passages: readonly Passage[]): string {
  const parts: string[] = [];
  const gap = (): void => {
    if (parts.at(-1) !== GAP) parts.push(GAP);
  };
  for (const [at, { kind, name, id, text }] of blocks.entries()) {
    const shown = passages.filter(({ block }) => block === at).toSorted((a, b) => a.from - b.from);
    if (shown.length === 0) {
      if (all.some(({ block }) => block === at)) gap();
      continue;
    }
    if (at > 0 || kind !== "text") parts.push(`[${[kind, name, id].filter((each) => each !== "").join(" ")}]`);
    let end = 0;
    for (const each of joined(shown)) {
      if (each.from > end) gap();
      parts.push(escapeHeaders(escapeLines(text.slice(each.from, each.to).trimEnd())));
      end = each.to;
    }
    if (end < text.length) gap();
  }
  return parts.join("\n");
}

/** Merges adjacent ranges. */
function joined(passages: readonly Passage[]): { from: number; to: number }[] {
  const stretches: { from: number; to: number }[] = [];
  for (const { from, to } of passages) {
    const last = stretches.at(-1);
    if (last?.to === from) last.to = to;
    else stretches.push({ from, to });
  }
  return stretches;
}

/** Behind any character that displays as a new line. */
const LINE_START = String.raw`(?<![^\n\v\f\r\u0085\u2028\u2029])`;
/** Characters that show nothing. A line that begins with them looks as it would without. */
const INVISIBLE = String.raw`\p{DI}\p{Cf}\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f`;
const HEADER = new RegExp(
  String.raw`${LINE_START}(?=[\\${INVISIBLE}]*\[[${INVISIBLE}]*(?:@|…\]|(?:user|assistant|system)[,\]]))`,
  "gu",
);

/** Escapes lines that look like the header of a recalled message or like a gap. */
export function escapeHeaders(text: string): string {
  return text.replaceAll(HEADER, "\\");
}
