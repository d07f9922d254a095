/**
 * Cuts messages into passages of a few lines, and chooses the passages for an answer within a token budget.
 *
 * Messages and asks in, passages out, without storage. It is deterministic and never exceeds its budget.
 * docs/decisions/0017 explains the ranking and its measurements.
 */
import type { UIMessage } from "ai";
import { parseTranscript, renderTranscript, type Block } from "../../steps/draft/render.ts";
import { AGAIN_SHARE, nearShares, type Ask } from "./asked.ts";
import { Pace, type Slices } from "../../steps/text/text.ts";
import { AS_WRITTEN, formsOfText, isUnspaced, languageOf, spellingsOf, wordsOfText, type Language } from "./stems.ts";

/** An ask with its weight. The fewer messages have it, the higher the weight. */
export interface Vote extends Ask {
  readonly weight: number;
}

/** A message that may be quoted, and its place in the conversation. */
export interface Candidate {
  readonly seq: number;
  readonly message: UIMessage;
}

export interface Passage {
  readonly seq: number;
  /** The index of its block in the message, and its character range in that block. */
  readonly block: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** True when a user or the agent wrote it, in a message or as the input of a tool. */
  readonly written: boolean;
  readonly language: Language;
}

/** A message in blocks, and the blocks in passages. */
export interface MessageBlocks {
  readonly seq: number;
  readonly message: UIMessage;
  readonly blocks: readonly Block[];
  readonly passages: readonly Passage[];
  /** True when the passages cover the whole message. */
  readonly isAll: boolean;
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
const IN_TALK = { saturation: 2, lengthShare: 0.9 };
const IN_WORK = { saturation: 1.2, lengthShare: 0.75 };

/** How much more a passage counts whose speaker the question names. */
const SPEAKER_SHARE = 2;
/** A name is a speaker's if it opens this many of the messages. */
const LEAST_TURNS = 3;
/** Characters at the beginning of a message in which its speaker is named. */
const LABEL_CHARS = 80;
/** A name before a colon, as in "Ann: …", "[10:15] Ann: …" or "**Ann**: …". */
const LABEL =
  /(?:^|[\s\])*>-])(\p{L}[\p{L}\p{M}'’.-]*(?: \p{L}[\p{L}\p{M}'’.-]*){0,2})(?:\*\*|\s*\([^()]*\))?\s?:(?![\d/])/u;

/** Further criteria for a text about work in progress: recent passages, names, and written before read text. */
const RECENT_SHARE = 0.1;
const FADES_TO = 0.99;
const NAME_SHARE = 3;
const READ_SHARE = 0.5;

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
const READ_KINDS: ReadonlySet<Block["kind"]> = new Set(["result", "error", "denied", "file", "source"]);

/** Cuts a message into passages, in order. */
export function cutMessage({ seq, message }: Candidate): MessageBlocks {
  const blocks = parseTranscript(renderTranscript([{ kind: "message", message }], LIMITS))[0]?.blocks ?? [];
  // A block that was cut is hardly shorter than the limit.
  const isAll = blocks.every(({ text }) => text.length < MAX_PART_CHARS - MAX_PART_NOTE_CHARS);
  const passages: Passage[] = [];
  for (const [block, { kind, text }] of blocks.entries()) {
    const written = !READ_KINDS.has(kind);
    const language = languageOf(text);
    for (const [from, to] of cutText(text)) {
      if (passages.length === MAX_PASSAGES) return { seq, message, blocks, passages, isAll: false };
      passages.push({ seq, block, from, to, text: text.slice(from, to), written, language });
    }
  }
  return { seq, message, blocks, passages, isAll };
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

/**
 * How well each passage and its neighbours match the asks. 1 when a passage has all of them once. `asksTalk` is the
 * result of `asksForStatement`.
 */
export function* weighPassages(
  passages: readonly Passage[],
  votes: readonly Vote[],
  asksTalk: boolean,
): Slices<Float64Array> {
  const near = nearShares(asksTalk);
  const { saturation, lengthShare } = asksTalk ? IN_TALK : IN_WORK;
  const worth = new Float64Array(passages.length);
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  const read = yield* readAll(passages, pace);
  const length = read.reduce((sum, { count }) => sum + count, 0) / Math.max(1, passages.length);
  const places = placesOf(passages, near.length);
  let total = 0;
  for (const vote of votes) {
    const best = new Float64Array(passages.length);
    const sum = new Float64Array(passages.length);
    total += vote.weight;
    const held = asHeld(vote);
    for (const [at, forms] of read.entries()) {
      const often = held(forms, passages[at]);
      if (pace.isOver(vote.phrase === null ? GLANCE_CHARS : (passages[at]?.text.length ?? 0))) yield;
      if (often === 0) continue;
      const long = 1 - lengthShare + (lengthShare * forms.count) / length;
      const own = (vote.weight * often * (saturation + 1)) / (often + saturation * long);
      for (const { other, share } of neighboursOf(at, places, near)) {
        sum[other] = (sum[other] ?? 0) + own * share;
        best[other] = Math.max(best[other] ?? 0, own * share);
      }
    }
    for (const at of worth.keys()) {
      worth[at] = (worth[at] ?? 0) + (best[at] ?? 0) + AGAIN_SHARE * ((sum[at] ?? 0) - (best[at] ?? 0));
    }
  }
  if (total === 0) return worth;
  const share = asksTalk ? speakerShares(passages, votes) : () => 1;
  return worth.map((each, at) => (each / total) * share(at));
}

/** A passage itself and those near it, with the share of its match that each gets. */
function neighboursOf(at: number, places: readonly number[], near: readonly number[]) {
  const found: { other: number; share: number }[] = [];
  const end = Math.min(places.length, at + near.length);
  for (let other = Math.max(0, at - near.length + 1); other < end; other++) {
    const share = near[Math.abs((places[other] ?? 0) - (places[at] ?? 0))];
    if (share !== undefined) found.push({ other, share });
  }
  return found;
}

/** Gives each passage's likeness to those near it as well, by their shares. A passage keeps the most that it gets. */
export function spreadLikeness(
  passages: readonly Passage[],
  likeness: Float64Array,
  near: readonly number[],
): Float64Array {
  const places = placesOf(passages, near.length);
  const spread = new Float64Array(passages.length);
  for (const [at, own] of likeness.entries()) {
    if (own === 0) continue;
    for (const { other, share } of neighboursOf(at, places, near)) {
      spread[other] = Math.max(spread[other] ?? 0, own * share);
    }
  }
  return spread;
}

/**
 * The factor of each passage, which is higher if its message is by the one speaker whom the asks name. Messages name
 * their speaker before a colon where roles do not tell who speaks.
 */
function speakerShares(passages: readonly Passage[], votes: readonly Vote[]): (at: number) => number {
  const asked = new Set(votes.map(({ word }) => word));
  const turns = new Map<string, Set<number>>();
  for (const { seq, block, from, text } of passages) {
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

/** Numbers that differ by one between adjacent passages, and by more across a gap. */
function placesOf(passages: readonly Passage[], gap: number): number[] {
  let place = 0;
  return passages.map(({ seq }, at) => {
    const before = passages[at - 1];
    if (before !== undefined) place += seq - before.seq > 1 ? gap : 1;
    return place;
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
  const spellings = spellingsOf(text);
  return {
    often: tally([...forms, ...spellings.map(passage.language.stem)]),
    written: tally([...formsOfText(text, AS_WRITTEN), ...spellings]),
    count: forms.length,
  };
}

function tally(forms: readonly string[]): Map<string, number> {
  const often = new Map<string, number>();
  for (const form of forms) often.set(form, (often.get(form) ?? 0) + 1);
  return often;
}

/** The text's words with a blank before each, to compare adjacent words. */
function lineOf(text: string): string {
  return ` ${wordsOfText(text.replaceAll(ESCAPES, " ")).join(" ").normalize("NFD").replaceAll(/\p{M}/gu, "")} `;
}

/** Returns a function that counts how often a passage matches the ask. */
function asHeld({ word, forms, phrase }: Vote): (read: Forms, passage: Passage | undefined) => number {
  if (phrase === null) {
    const bare = AS_WRITTEN.stem(word);
    return ({ often, written }) =>
      forms.reduce((sum, form) => sum + (often.get(form) ?? 0), 0) || (written.get(bare) ?? 0);
  }
  const line = lineOf(phrase.text);
  const sought = isUnspaced(phrase.text) ? line.trim() : phrase.isBeginning ? line.trimEnd() : line;
  return (_, passage) => (lineOf(passage?.text ?? "").includes(sought) ? 1 : 0);
}

/** The parameters of a choice. */
export interface Choice {
  /** The result of {@link weighPassages}. */
  readonly worth: Float64Array;
  /** The result of {@link workShare}. */
  readonly work: number;
  /** Token budget of all chosen passages. */
  readonly budget: number;
  /** The tokens that a passage adds when these are already chosen. */
  readonly costOf: (passage: Passage, chosen: ReadonlySet<number>) => number;
}

/** What a choice took, and why it left out the rest. */
export interface Chosen {
  /** Indices of the chosen passages. The best come first, and behind them those that differ from one in their numbers alone. */
  readonly taken: readonly number[];
  /** Indices of passages that repeat a chosen one. */
  readonly repeats: readonly number[];
  /** Indices of passages that did not fit. */
  readonly unfit: readonly number[];
}

/** Chooses the passages that match the asks best. None repeats another. */
export function* choosePassages(passages: readonly Passage[], { worth, work, budget, costOf }: Choice): Slices<Chosen> {
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  const newest = passages.at(-1)?.seq ?? 0;
  const value = passages.map(({ seq, written }, at) => {
    const recent = work === 0 ? 0 : RECENT_SHARE * work * FADES_TO ** (newest - seq);
    return ((worth[at] ?? 0) + recent) * (written ? 1 : READ_SHARE ** work);
  });
  const sorted = [...value.keys()].filter((at) => (value[at] ?? 0) > 0);
  sorted.sort((a, b) => (value[b] ?? 0) - (value[a] ?? 0) || b - a);
  const covered = new Covered(passages, work);
  const waiting: Waiting[] = [];
  for (const at of sorted.slice(0, MAX_CHOICE)) {
    waiting.push({ at, gain: (value[at] ?? 0) * covered.gainOf(at) });
    if (pace.isOver(work === 0 ? GLANCE_CHARS : (passages[at]?.text.length ?? 0))) yield;
  }
  waiting.sort((a, b) => a.gain - b.gain);
  const taken: number[] = [];
  const repeats: number[] = [];
  const alike: number[] = [];
  const seqs = new Set<number>();
  const unfit: number[] = [];
  let left = budget;
  const take = (at: number, passage: Passage): void => {
    const cost = costOf(passage, seqs);
    if (cost > left) {
      unfit.push(at);
      return;
    }
    left -= cost;
    taken.push(at);
    seqs.add(passage.seq);
    covered.add(at);
  };
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const passage = passages[next.at];
    if (passage === undefined) continue;
    if (pace.isOver(passage.text.length)) yield;
    const gain = (value[next.at] ?? 0) * covered.gainOf(next.at);
    // Passages chosen since say some of its names, so it goes back into the queue with its lower gain.
    if (gain < next.gain) {
      insert(waiting, { at: next.at, gain });
      continue;
    }
    if (covered.hasAlike(next.at)) alike.push(next.at);
    else take(next.at, passage);
  }
  for (const at of alike) {
    const passage = passages[at];
    if (passage === undefined) continue;
    if (pace.isOver(passage.text.length)) yield;
    if (covered.hasSame(at)) repeats.push(at);
    else take(at, passage);
  }
  return { taken, repeats, unfit };
}

interface Waiting {
  readonly at: number;
  readonly gain: number;
}

function insert(waiting: Waiting[], one: Waiting): void {
  let [from, to] = [0, waiting.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((waiting[middle]?.gain ?? 0) < one.gain) from = middle + 1;
    else to = middle;
  }
  waiting.splice(from, 0, one);
}

/** The names and words of the passages chosen so far. */
class Covered {
  readonly #passages: readonly Passage[];
  readonly #work: number;
  readonly #names = new Set<string>();
  readonly #words: ReadonlySet<string>[] = [];
  readonly #shapes: ReadonlySet<string>[] = [];
  readonly #namesOf = new Map<number, readonly string[]>();

  constructor(passages: readonly Passage[], work: number) {
    this.#passages = passages;
    this.#work = work;
  }

  /** The factor for the new names that a passage adds relative to its length. 1 for a question. */
  gainOf(at: number): number {
    if (this.#work === 0) return 1;
    const fresh = this.#read(at).reduce((sum, name) => sum + (this.#names.has(name) ? 0 : 1), 0);
    return ((1 + NAME_SHARE * fresh) / Math.sqrt(1 + (this.#passages[at]?.text.length ?? 0))) ** this.#work;
  }

  /** Whether a chosen passage says nearly the same as this one. */
  hasSame(at: number): boolean {
    return isAmong(this.#words, this.#passages[at]?.text ?? "");
  }

  /** Whether a chosen passage says nearly the same as this one but for its numbers. */
  hasAlike(at: number): boolean {
    return isAmong(this.#shapes, shapeOf(this.#passages[at]?.text ?? ""));
  }

  add(at: number): void {
    for (const name of this.#read(at)) this.#names.add(name);
    const text = this.#passages[at]?.text ?? "";
    this.#words.push(new Set(wordsOfText(text)));
    this.#shapes.push(new Set(wordsOfText(shapeOf(text))));
  }

  #read(at: number): readonly string[] {
    if (this.#work === 0) return [];
    const names = this.#namesOf.get(at) ?? [...new Set((this.#passages[at]?.text ?? "").match(NAME) ?? [])];
    this.#namesOf.set(at, names);
    return names;
  }
}

/** A path, an address, a number, or a word with a capital, a mark or a digit in it. It begins where a word does, so each word is read once. */
const NAME =
  /(?<![\p{L}\p{N}_@#$~./:-])[\p{L}\p{N}_@#$~./:-]*(?:[\p{Ll}][\p{Lu}]|[_./:@#$]|\p{N}|(?<!\p{L})\p{Lu})[\p{L}\p{N}_./:-]{2,}/gu;

/** The text without its numbers. Lines of a log have one shape. */
function shapeOf(text: string): string {
  return text.replaceAll(/\p{N}+/gu, "#");
}

/** A message without its numbers. Null for one that is short enough to say the same on purpose. */
export function shapeOfCut({ blocks }: MessageBlocks): string | null {
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
