/**
 * `recall` lets a model read the originals under its summaries: by words, by reference, or by place, as text within a token budget.
 *
 * It reads one session and writes nothing (S1). A request without a result is an answer with advice, never an error. The answer bounds the
 * cost, not the history. It reads a view without its content and two rows for each original, and pauses after each piece of work, so that
 * its driver can let other work in.
 */
import { z } from "zod";
import type { RecalledVersion } from "../agent/hooks.ts";
import type { ByMeaning, Recall, RecalledMessage } from "../agent/recalled.ts";
import { inWords, PalimpsestError } from "../errors.ts";
import { MAX_FOCUS_CHARS, MAX_ID_CHARS, RECALL_HITS } from "../limits.ts";
import type { SeqRange } from "./index-rows.ts";
import { type CountTokens, referenceTo } from "../steps/message/message.ts";
import { endWithin, Pace, type Slices } from "../steps/text/text.ts";
import type { HiddenMessages } from "./hidden-messages.ts";
import {
  choosePassages,
  cutMessage,
  endsOf,
  headerOf,
  PASSAGES_PIECE_CHARS,
  quote,
  shapeOfMessage,
  weighPassages,
  wholeText,
  type Original,
  type Passage,
  type ReadMessage,
  type Shown,
} from "./passages.ts";
import { beginningOf, lostAmong, rankMessages, readQuestion, topicAsks, type Ask, type Match } from "./question.ts";

/** Default tokens of one answer of `recall`, and the bounds of that setting. An answer is a page of originals. */
export const RECALL_TOKENS = 4_000;
const MIN_RECALL_TOKENS = 200;
const MAX_RECALL_TOKENS = 50_000;
/** Tokens reserved for naming the omitted messages and how to ask for them. */
const NOTE_TOKENS = 100;
/** Most originals that share an answer equally, so that the first of many long ones does not take it whole. */
const MOST_SHARES = 3;
/** With fewer tokens left, no further original is begun, because so short an excerpt says nothing. */
const LEAST_EXCERPT_TOKENS = 60;
/** The characters of an excerpt, tried in turn until it fits. */
const EXCERPT_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120] as const;

/** Tokens of an answer for each message that is read for it. A turn of a conversation is hardly shorter. */
export const TOKENS_OF_A_TURN = 20;
/** So many times as many are looked at while they differ from read ones in their numbers alone, as lines of a log do. */
const ALIKE_READS = 5;
/** Most characters of messages that an answer is chosen from. The first message is read at any size. */
export const READ_CHARS = 400_000;
/** Most characters of messages that were read and then turned out too long to be included. After that no more are read. */
const LOOKED_CHARS = 1_000_000;
/** Index rows for all words of the query, for the topics that it names, and for beginnings of names that no message has. */
export const ASKED_ROWS = 2_400;
export const TOPIC_ROWS = 1_200;
export const BEGINNING_ROWS = 400;
/** Tokens of the header line of a message, for one that follows another, and for one with a reference. */
const FOLLOWING_TOKENS = 4;
const HEADER_TOKENS = 11;

/** Give a query, ids, a message to look around, an overlay, or notes. A query may be limited to one overlay. */
export interface RecallRequest {
  /** A question or words, in any grammatical form. "Quoted words" must stand side by side, and begin* matches beginnings. */
  readonly query?: string | undefined;
  /** References as summaries show them, or message ids. */
  readonly ids?: readonly string[] | undefined;
  /** A message by reference or id. Reads it and its neighbours. */
  readonly around?: string | undefined;
  /** Searches under this overlay. Without a query, reads the messages under it from the end. */
  readonly overlayId?: string | undefined;
  /** True searches the whole session, with the messages in view and those on other branches. By default only messages under summaries are searched. */
  readonly everywhere?: boolean | undefined;
  /** The number of a version of the notes. Reads it as it was written, where a model was shown only a part of it. */
  readonly notes?: number | undefined;
  /** Limits the reading to this section, by its heading. */
  readonly section?: string | undefined;
  /**
   * With one of `ids`, or `notes`. Reads word for word from this character on. An answer that did not hold the whole text names the next
   * one. Beside anything else 0 counts as absent, because models fill in every field.
   */
  readonly from?: number | undefined;
  /** Most tokens of the answer's text. Default 4,000. */
  readonly maxTokens?: number | undefined;
}

/** Fields that a model may send. A blank one counts as absent. */
const text = (help: string) => z.string().max(MAX_FOCUS_CHARS).optional().describe(help);
export const recallInput = z.object({
  query: text(
    'A question, or words that were said; only "quoted words" for those side by side, begin* for beginnings.',
  ),
  ids: z
    .array(z.string().max(MAX_ID_CHARS))
    .max(RECALL_HITS)
    .optional()
    .describe("References from a summary, such as @0a1b2c3: reads these."),
  around: z.string().max(MAX_ID_CHARS).optional().describe("One reference: that message and what was said around it."),
  overlayId: z.string().max(MAX_ID_CHARS).optional().describe("Only under this summary; alone, reads it from its end."),
  everywhere: z.boolean().optional().describe("Search all of the conversation, also what you can see."),
  notes: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe("A version of the notes: reads what was cut, as a line in them says."),
  section: text("Only this section of that version."),
  from: z.number().int().nonnegative().optional().describe("The character to go on from, as an answer said."),
  maxTokens: z.number().int().min(MIN_RECALL_TOKENS).max(MAX_RECALL_TOKENS).optional(),
});

const HOW =
  "Give one of: query (words), ids (references from a summary, such as @0a1b2c3), around (one reference), overlayId, notes (the number of a version).";

/** What is near to a query by its meaning. A search by meaning may stand beside the one by words, and no answer needs it. */
export interface Near {
  readonly state: ByMeaning;
  /** The messages that count as found. */
  readonly seqs: ReadonlySet<number>;
  /** Messages in the order in which they are likely to answer, by words and by meaning. */
  rank(byWords: readonly number[], isInside: (seq: number) => boolean): readonly number[];
  /** The worth of each passage by words and by meaning. `byWords` is the worth by words. */
  weigh(read: readonly ReadMessage[], passages: readonly Passage[], byWords: Float64Array): Float64Array;
}

/** What is asked of a search by meaning. */
export interface MeaningAsked {
  readonly query: string;
  /** Where to search. Null searches the whole session. */
  readonly ranges: readonly SeqRange[] | null;
  /** What the view does not show. Vectors are made for these messages alone. */
  readonly hidden: readonly SeqRange[];
}

/** The searched parts of one session. */
export interface Recalled {
  readonly places: HiddenMessages;
  /** Reads a version of the notes. Null where the agent keeps none. */
  readonly version: ((asked: RecalledVersion) => Recall) | null;
  readonly near?: Near | undefined;
}

type Asked = RecallRequest & { readonly maxTokens: number };

/** An answer to be: what it may show, best first, and what it says of the rest. */
interface Draft {
  readonly places: HiddenMessages;
  readonly items: readonly Shown[];
  readonly maxTokens: number;
  readonly countTokens: CountTokens;
  readonly near?: Near | undefined;
  /** Text before the first message. */
  readonly before?: string;
  /** Further lines of the note at the end. */
  readonly lines: readonly string[];
  readonly isBeside: (seq: number) => boolean;
  /** The number of found messages that are not shown. Null where nobody counted them. */
  readonly leftOut: (shown: readonly Shown[]) => number | null;
}

/** Runs in pieces of one message at most. Throws `invalid_input` for a request that names nothing, or a budget out of bounds. */
export function* recall(
  { places, version, near }: Recalled,
  request: RecallRequest,
  countTokens: CountTokens,
): Slices<Recall> {
  const asked = checkRequest(request);
  const { ids, around, overlayId, query, notes } = asked;
  if (notes !== undefined) {
    return version?.({ ...asked, version: notes }) ?? nothing("unknown", "There are no notes of this conversation.");
  }
  const named = { places, asked, countTokens };
  if (ids !== undefined) {
    const found = ids.map((id) => ({ id, seqs: places.named(id) }));
    const unknown = found.filter(({ seqs }) => seqs.length === 0).map(({ id }) => id);
    const seqs = [...new Set(found.flatMap((each) => each.seqs))];
    return seqs.length === 0 ? notThere(ids) : yield* readInOrder(seqs, { ...named, count: seqs.length, unknown });
  }
  if (around !== undefined) {
    const [seq] = places.named(around);
    if (seq === undefined) return notThere([around]);
    return yield* readInOrder(places.around(seq), { ...named, count: null, unknown: [] });
  }
  const overlay = overlayId === undefined ? undefined : places.overlayNamed(overlayId);
  if (overlay === null) return notThere([overlayId ?? ""]);
  const ranges = overlay === undefined ? (asked.everywhere === true ? null : places.hidden()) : places.under(overlay);
  if (query === undefined) {
    return yield* readInOrder(places.newest(ranges ?? []), { ...named, count: null, unknown: [] });
  }
  if (ranges?.length === 0) {
    const advice =
      "No summary hides anything here: all of this conversation is in your context. To search it all the same, say everywhere.";
    return nothing("nothing-hidden", advice);
  }
  return yield* readByWords({ ...named, query, ranges, near });
}

/**
 * What to ask of a search by meaning for a request. Null for a request that such a search does not serve. It has no query, or one in
 * quotes alone, or a text about work in progress, or nothing is hidden. A text about work is ranked by its names, which words find.
 */
export function meaningAsked(places: HiddenMessages, request: RecallRequest): MeaningAsked | null {
  const { query, ids, around, overlayId, everywhere, notes } = checkRequest(request);
  if (query === undefined || ids !== undefined || around !== undefined || notes !== undefined) return null;
  const { asks, isWork } = readQuestion(query);
  if (isWork || asks.some(({ isRequired }) => isRequired)) return null;
  const overlay = overlayId === undefined ? undefined : places.overlayNamed(overlayId);
  if (overlay === null) return null;
  const hidden = places.hidden();
  const ranges = overlay === undefined ? (everywhere === true ? null : hidden) : places.under(overlay);
  return ranges?.length === 0 ? null : { query, ranges, hidden };
}

function checkRequest(request: RecallRequest): Asked {
  const { maxTokens = RECALL_TOKENS, from = 0, notes = 0 } = request;
  if (!Number.isSafeInteger(maxTokens) || maxTokens < MIN_RECALL_TOKENS || maxTokens > MAX_RECALL_TOKENS) {
    throw invalid(`maxTokens is ${maxTokens}: give a whole number from ${MIN_RECALL_TOKENS} to ${MAX_RECALL_TOKENS}.`);
  }
  for (const [name, value] of Object.entries({ notes, from })) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    throw invalid(`${name} is ${inWords(value)}: give a whole number of at least 0.`);
  }
  const ids = request.ids?.flatMap((id) => filled(id) ?? []) ?? [];
  const asked = {
    ...request,
    query: filled(request.query),
    around: filled(request.around),
    overlayId: filled(request.overlayId),
    section: filled(request.section),
    ids: ids.length === 0 ? undefined : ids,
    notes: notes === 0 ? undefined : notes,
    maxTokens,
  };
  const { query, around } = asked;
  if (from > 0 && ((notes === 0 && ids.length !== 1) || query !== undefined || around !== undefined)) {
    throw invalid(
      "from goes on within one text: give one id with it, or the number of a version of the notes, and no query or around.",
    );
  }
  if ([query, around, asked.overlayId, asked.ids, asked.notes].every((each) => each === undefined)) {
    throw invalid(`Nothing was asked for. ${HOW}`);
  }
  return asked;
}

/** Models send empty texts for fields that they mean to omit. */
function filled(value: string | undefined): string | undefined {
  return value?.trim() === "" ? undefined : value?.trim();
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_input", message);
}

function nothing(reason: Extract<Recall, { kind: "nothing" }>["reason"], advice: string): Recall {
  return { kind: "nothing", reason, text: advice };
}

function notThere(names: readonly string[]): Recall {
  return nothing("unknown", `${sayUnknown(names)} ${HOW}`);
}

function sayUnknown(names: readonly string[]): string {
  const list = names.map((name) => JSON.stringify(name.slice(0, 40))).join(", ");
  return `Not in this conversation, or deleted from it: ${list}.`;
}

// --- originals that were named ------------------------------------------------------------------------------------------

interface NamedReading {
  readonly places: HiddenMessages;
  readonly asked: Asked;
  readonly countTokens: CountTokens;
  /** The number of originals, where it is known. */
  readonly count: number | null;
  readonly unknown: readonly string[];
}

/** Reads originals, nearest first, until the answer is full. Each is whole, or its beginning and end. */
function* readInOrder(
  seqs: Iterable<number>,
  { places, asked, countTokens, count, unknown }: NamedReading,
): Slices<Recall> {
  const { maxTokens, from, ids } = asked;
  const items: Shown[] = [];
  let [left, looked, isFull] = [maxTokens - NOTE_TOKENS, 0, false];
  for (const seq of seqs) {
    const original = places.read(seq);
    looked++;
    yield;
    if (original === null) continue;
    if (from !== undefined && ids?.length === 1) return readOn(original, { places, from, maxTokens, countTokens });
    const shares = count === null ? MOST_SHARES : Math.min(MOST_SHARES, count - looked + 1);
    const costOf = (shown: Shown): number => countTokens(`${quote([shown]).text}\n\n`);
    const read = cutMessage(original);
    const hasRoom = items.length === 0 || left >= LEAST_EXCERPT_TOKENS;
    const item = hasRoom
      ? (excerptOf(read, (each) => costOf(each) <= left / shares) ?? excerptOf(read, (each) => costOf(each) <= left))
      : null;
    isFull = item === null;
    if (item === null) break;
    left -= costOf(item);
    items.push(item);
  }
  if (items.length === 0 && !isFull) return nothing("unknown", `There is nothing to read there. ${HOW}`);
  const leftOut = (shown: readonly Shown[]): number | null => {
    const popped = items.length - shown.length;
    if (count === null) return isFull || popped > 0 ? null : 0;
    return popped + (isFull ? count - looked + 1 : 0);
  };
  const lines = unknown.length === 0 ? [] : [sayUnknown(unknown.slice(0, 3))];
  return answerOf({ places, items, maxTokens, countTokens, lines, isBeside: () => false, leftOut });
}

function excerptOf(read: ReadMessage, fits: (shown: Shown) => boolean): Shown | null {
  const all = { read, passages: read.passages };
  if (fits(all)) return all;
  for (const chars of EXCERPT_CHARS) {
    const part = { read, passages: endsOf(read, chars) };
    if (fits(part)) return part;
  }
  return null;
}

interface ReadingOn {
  readonly places: HiddenMessages;
  readonly from: number;
  readonly maxTokens: number;
  readonly countTokens: CountTokens;
}

/**
 * Reads one original word for word, in pieces that fit an answer. Each piece says how to ask for the next. A stored message stays the
 * same, so the characters of one answer go on where those of the one before it ended.
 */
function readOn(original: Original, { places, from: asked, maxTokens, countTokens }: ReadingOn): Recall {
  const whole = wholeText(original);
  const described = describe(original, places);
  const { reference } = described;
  // Half of a character cannot be stored, so a piece that would begin with one begins with the whole.
  const from = /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(whole.slice(asked - 1, asked + 1)) ? asked - 1 : asked;
  if (from > 0 && from >= whole.length) {
    return nothing("unknown", `${reference} has ${whole.length} characters, which were all read.`);
  }
  const answer = (to: number): string => {
    const next = to === whole.length ? "" : ` For what follows: ids: ["${reference}"], from: ${to}.`;
    const isAll = from === 0 && to === whole.length;
    const place = isAll ? "" : `\n\n(Characters ${from} to ${to} of ${whole.length}.${next})`;
    return `${headerOf(original)}\n${whole.slice(from, to)}${place}`;
  };
  const to = endWithin(whole, { from, maxTokens, fits: (end) => countTokens(answer(end)) <= maxTokens });
  const messages = [{ ...described, clipped: from > 0 || to < whole.length, beside: false }];
  return { kind: "found", text: answer(to), messages, leftOut: 0 };
}

// --- originals by words ------------------------------------------------------------------------------------------------

interface WordsReading {
  readonly places: HiddenMessages;
  readonly asked: Asked;
  readonly query: string;
  /** Null searches the whole session. */
  readonly ranges: readonly SeqRange[] | null;
  readonly near: Near | undefined;
  readonly countTokens: CountTokens;
}

/** The passages that say most of the question, with their neighbours. */
function* readByWords({ places, asked, query, ranges, near, countTokens }: WordsReading): Slices<Recall> {
  const { maxTokens } = asked;
  const { asks, isQuestion, isWork } = readQuestion(query);
  const { matches, lost } = matchAsks(places, { asks, ranges, isWork });
  const isWithin = hasRequired(matches);
  const hits = new Set(matches.flatMap(({ seqs }) => seqs).filter(isWithin));
  const topics = isQuestion ? places.matches(topicAsks(query), { ranges, rows: TOPIC_ROWS }) : [];
  // What is said of a topic is no answer about a name that nobody said.
  const isTopic = !lost.some(({ isName }) => isName) && topics.some(({ seqs }) => seqs.some(isWithin));
  const isFound = hits.size > 0 || (near !== undefined && near.seqs.size > 0);
  const partial = sayPartial(places.countPartial(ranges));
  if (!isFound && !isTopic) {
    const where =
      asked.everywhere === true ? "" : "What you can see already was not searched; for that, say everywhere.";
    const advice = ["No message has any of these words. Try other ones.", where, partial, sayMeaning(near)];
    const text = advice.filter((each) => each !== "").join(" ");
    return { kind: "nothing", reason: "no-match", text, ...(near !== undefined && { byMeaning: near.state }) };
  }
  const all = [...matches, ...topics].map((each) => ({ ...each, seqs: each.seqs.filter(isWithin) }));
  const isInside = places.inside(ranges);
  const byWords = rankMessages(all, { isInside, isQuestion });
  const most = Math.ceil(maxTokens / TOKENS_OF_A_TURN);
  const read = yield* readRanked(places, near?.rank(byWords, isInside) ?? byWords, most);
  const passages = read.flatMap((each) => each.passages);
  const worth = yield* weighPassages(passages, all, isQuestion);
  const taken = yield* choosePassages(passages, {
    worth: near?.weigh(read, passages, worth) ?? worth,
    isWork,
    budget: maxTokens - NOTE_TOKENS,
    costOf: ({ seq, text }, chosen) => countTokens(`${text}\n`) + headerTokens(seq, chosen),
  });
  const bySeq = new Map(read.map((each) => [each.seq, each]));
  const isCounted = matches.every((each) => each.isAll);
  return answerOf({
    places,
    maxTokens,
    countTokens,
    near,
    items: taken.flatMap((passage) => {
      const of = bySeq.get(passage.seq);
      return of === undefined ? [] : { read: of, passages: [passage] };
    }),
    before: isFound ? "" : sayTopicAlone(lost),
    lines: [isFound && lost.length > 0 ? `No message has ${sayWords(lost)}.` : "", partial, sayMeaning(near)],
    isBeside: (seq) => !hits.has(seq) && near?.seqs.has(seq) !== true,
    leftOut: (shown) => {
      const missed = hits.size - shown.filter((each) => hits.has(each.read.seq)).length;
      return isCounted || missed === 0 ? missed : null;
    },
  });
}

/**
 * Finds the messages of each ask, and those of names that no message has by their beginnings, because other languages decline them. A
 * question tells what is lost. A text about work has words that nobody said.
 */
function matchAsks(
  places: HiddenMessages,
  { asks, ranges, isWork }: { asks: readonly Ask[]; ranges: readonly SeqRange[] | null; isWork: boolean },
): { readonly matches: readonly Match[]; readonly lost: readonly Ask[] } {
  const matches = places.matches(asks, { ranges, rows: ASKED_ROWS });
  if (isWork) return { matches, lost: [] };
  const lost = lostAmong(matches, ({ seqs }) => seqs.length > 0);
  const beginnings = lost.flatMap((ask) => beginningOf(ask) ?? []);
  return { matches: [...matches, ...places.matches(beginnings, { ranges, rows: BEGINNING_ROWS })], lost };
}

/** A test whether a message has all that is required. */
function hasRequired(matches: readonly Match[]): (seq: number) => boolean {
  const required = matches.filter(({ isRequired }) => isRequired).map(({ seqs }) => new Set(seqs));
  return (seq) => required.every((seqs) => seqs.has(seq));
}

/**
 * Reads messages, best first, and returns them in the order of the conversation. `most` of them differ from each other in more than
 * numbers, and as many more do not.
 */
function* readRanked(places: HiddenMessages, ranked: readonly number[], most: number): Slices<ReadMessage[]> {
  const read: ReadMessage[] = [];
  const shapes = new Set<string>();
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  let [chars, looked, fresh] = [0, 0, 0];
  for (const seq of ranked.slice(0, ALIKE_READS * most)) {
    if (fresh >= most) break;
    const original = places.read(seq);
    if (original === null) continue;
    const cut = cutMessage(original);
    const size = cut.blocks.reduce((sum, { text }) => sum + text.length, 0);
    if (pace.isOver(size)) yield;
    looked += size;
    if (read.length > 0 && looked > LOOKED_CHARS) break;
    const shape = shapeOfMessage(cut);
    const isAlike = shape !== null && shapes.has(shape);
    if ((isAlike && read.length - fresh >= most) || (read.length > 0 && chars + size > READ_CHARS)) continue;
    chars += size;
    if (shape !== null) shapes.add(shape);
    if (!isAlike) fresh++;
    read.push(cut);
  }
  return read.toSorted((a, b) => a.seq - b.seq);
}

function headerTokens(seq: number, chosen: ReadonlySet<number>): number {
  if (chosen.has(seq)) return 0;
  return chosen.has(seq - 1) || chosen.has(seq + 1) ? FOLLOWING_TOKENS : HEADER_TOKENS;
}

// --- the answer --------------------------------------------------------------------------------------------------------

/** Shows as many of the items as fit, in the order of the conversation, and says behind them what is left out. */
function answerOf(draft: Draft): Recall {
  const { places, items, maxTokens, countTokens, near, before = "", isBeside } = draft;
  for (let kept = items.length; kept > 0; kept -= Math.ceil(kept / 50)) {
    const shown = inOrder(items.slice(0, kept));
    const { text: quoted, clipped } = quote(shown);
    const leftOut = draft.leftOut(shown);
    const cut = shown.find(({ read }) => clipped.has(read.seq))?.read.message.id;
    const lines = [
      ...draft.lines.slice(0, 1),
      leftOut === 0 ? "" : `${leftOut ?? "More"} not shown: ask for fewer, or with words that only one has.`,
      cut === undefined
        ? ""
        : `Cut short, as marked. For all of one, piece by piece, ask for it alone: ids: ["${referenceTo(cut)}"], from: 0.`,
      ...draft.lines.slice(1),
    ].filter((line) => line !== "");
    const text = `${before}${quoted}${lines.length === 0 ? "" : `\n\n(${lines.join(" ")})`}`;
    if (countTokens(text) > maxTokens) continue;
    const messages = shown.map(({ read }) => ({
      ...describe(read, places),
      clipped: clipped.has(read.seq),
      beside: isBeside(read.seq),
    }));
    return { kind: "found", text, messages, leftOut, ...(near !== undefined && { byMeaning: near.state }) };
  }
  return nothing("no-match", "What was found does not fit. Ask with a larger maxTokens.");
}

function inOrder(items: readonly Shown[]): Shown[] {
  const bySeq = [...Map.groupBy(items, ({ read }) => read.seq)].toSorted(([a], [b]) => a - b);
  return bySeq.flatMap(([, [first, ...others]]) =>
    first === undefined
      ? []
      : {
          read: first.read,
          passages: [first, ...others]
            .flatMap(({ passages }) => passages)
            .toSorted((a, b) => a.block - b.block || a.from - b.from),
        },
  );
}

function describe(
  { seq, message, createdAt }: Original,
  places: HiddenMessages,
): Omit<RecalledMessage, "clipped" | "beside"> {
  const { id, role } = message;
  return { id, reference: referenceTo(id), role, createdAt, overlayId: places.overlayOver(seq) };
}

/** Words that an answer says it lacks, and characters of each. */
const SAID_WORDS = 3;
const SAID_CHARS = 40;

function sayWords(asks: readonly Ask[]): string {
  const named = asks.slice(0, SAID_WORDS).map(({ word }) => JSON.stringify(word.slice(0, SAID_CHARS)));
  return named.join(", ");
}

/** Stands before what only a topic found, so that nobody takes it for an answer. */
function sayTopicAlone(lost: readonly Ask[]): string {
  return `(No message has any of these words: ${sayWords(lost)}. What follows only speaks of a topic that the question names.)\n\n`;
}

/** Names the messages that a search did not see, so that a missing match is not taken for proof. */
function sayPartial(messages: number): string {
  if (messages === 0) return "";
  const some = messages === 1 ? "1 message is" : `${messages} messages are`;
  return `${some} too long to be searched whole: of the longest texts only beginning and end were.`;
}

/** Says what of a search by meaning was not done. */
function sayMeaning(near: Near | undefined): string {
  if (near === undefined) return "";
  if (near.state.kind === "failed") return "Searched by words alone, because the search by meaning does not work now.";
  const { waiting } = near.state;
  return waiting === 0 ? "" : `Of ${waiting} of the messages only the words were searched.`;
}
