/**
 * `recall` lets a model read the originals under its summaries: by words, by reference, or by place, as text within a token budget.
 *
 * It reads one session and writes nothing (S1). A request without a result is an answer with advice, never an error. The answer bounds the
 * cost, not the history. It reads a view without its content and two rows for each original, and pauses after each piece of work, so that
 * its driver can let other work in.
 */
import { z } from "zod";
import type { RecalledVersion } from "../agent/hooks.ts";
import { words } from "../agent/inputs.ts";
import type { ByMeaning, Recall, RecalledMessage } from "../agent/recalled.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_FOCUS_CHARS, MAX_ID_CHARS, RECALL_HITS } from "../limits.ts";
import { isIn, type SeqRange } from "./search.ts";
import { type CountTokens, referenceTo, hashOf } from "../steps/message/message.ts";
import { endWithin, Pace, type Slices } from "../steps/text/text.ts";
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
import { beginningOf, rankMessages, readQuestion, topicAsks, type Ask, type Match, weightOf } from "./question.ts";
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { parseSyntheticId, storedId, RECORD_PREFIX } from "../steps/view/view.ts";
import { isPruned } from "../memory/messages/content.ts";
import type { MessageSearch } from "./search.ts";
import type { OverlayRow } from "../memory/statements.ts";
import { pathParts, type Tree } from "../memory/messages/tree.ts";
import { walkView } from "../memory/messages/visible.ts";

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
/** Tokens of the header line of a message that follows another, as most do. */
const HEADER_TOKENS = 4;

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
const text = (help: string) => words(MAX_FOCUS_CHARS).optional().describe(help);
export const recallInput = z.object({
  query: text(
    'A question, or words that were said; only "quoted words" for those side by side, begin* for beginnings.',
  ),
  ids: z
    .array(words(MAX_ID_CHARS))
    .max(RECALL_HITS)
    .optional()
    .describe("References from a summary, such as @0a1b2c3: reads these."),
  around: words(MAX_ID_CHARS).optional().describe("One reference: that message and what was said around it."),
  overlayId: words(MAX_ID_CHARS).optional().describe("Only under this summary; alone, reads it from its end."),
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
  /** Where to search. */
  readonly ranges: readonly SeqRange[];
  /** What the view does not show. Vectors are made for these messages alone. */
  readonly hidden: readonly SeqRange[];
}

/** The searched parts of one session. */
export interface Recalled {
  readonly originals: HiddenMessages;
  /** Reads a version of the notes. Null where the agent keeps none. */
  readonly version: ((asked: RecalledVersion) => Recall) | null;
  readonly near?: Near | undefined;
}

type Asked = RecallRequest & { readonly maxTokens: number };

/** Runs in pieces of one message at most. Throws `invalid_input` for a request that names nothing, or a budget out of bounds. */
export function* recall(recalled: Recalled, request: RecallRequest, countTokens: CountTokens): Slices<Recall> {
  return yield* new Answer(recalled, checkRequest(request), countTokens).find();
}

/**
 * What to ask of a search by meaning for a request. Null for a request that such a search does not serve. It has no query, or one in
 * quotes alone, or a text about work in progress, or nothing is hidden. A text about work is ranked by its names, which words find.
 */
export function meaningAsked(originals: HiddenMessages, request: RecallRequest): MeaningAsked | null {
  const asked = checkRequest(request);
  const { query, ids, around, notes } = asked;
  if (query === undefined || ids !== undefined || around !== undefined || notes !== undefined) return null;
  const { asks, isWork } = readQuestion(query);
  if (isWork || asks.some(({ isRequired }) => isRequired)) return null;
  const ranges = rangesOf(originals, asked);
  return ranges === null || ranges.length === 0 ? null : { query, ranges, hidden: originals.hidden() };
}

/** Where a request looks. Null where it names an overlay that there is not. */
function rangesOf(originals: HiddenMessages, { overlayId, everywhere }: Asked): readonly SeqRange[] | null {
  if (overlayId === undefined) return everywhere === true ? originals.everything() : originals.hidden();
  const overlay = originals.overlayNamed(overlayId);
  return overlay === null ? null : originals.under(overlay);
}

function checkRequest(request: RecallRequest): Asked {
  const { maxTokens = RECALL_TOKENS, from = 0, notes = 0 } = request;
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

/** What an answer may show, best first, and what it says of the rest. */
interface Draft {
  readonly items: readonly Shown[];
  /** Text before the first message. */
  readonly before?: string;
  /** Further lines of the note at the end. */
  readonly lines: readonly string[];
  readonly isBeside: (seq: number) => boolean;
  /** The number of found messages that are not shown. Null where nobody counted them. */
  readonly leftOut: (shown: readonly Shown[]) => number | null;
}

/** The answer to one request. */
class Answer {
  readonly #originals: HiddenMessages;
  readonly #version: Recalled["version"];
  readonly #near: Near | undefined;
  readonly #asked: Asked;
  readonly #countTokens: CountTokens;

  constructor({ originals, version, near }: Recalled, asked: Asked, countTokens: CountTokens) {
    this.#originals = originals;
    this.#version = version;
    this.#near = near;
    this.#asked = asked;
    this.#countTokens = countTokens;
  }

  *find(): Slices<Recall> {
    const { ids, around, overlayId, query, notes } = this.#asked;
    const originals = this.#originals;
    if (notes !== undefined) {
      const none = nothing("unknown", "There are no notes of this conversation.");
      return this.#version?.({ ...this.#asked, version: notes }) ?? none;
    }
    if (ids !== undefined) {
      const found = ids.map((id) => ({ id, seqs: originals.named(id) }));
      const unknown = found.filter(({ seqs }) => seqs.length === 0).map(({ id }) => id);
      const seqs = [...new Set(found.flatMap((each) => each.seqs))];
      return seqs.length === 0 ? notThere(ids) : yield* this.#readInOrder(seqs, seqs.length, unknown);
    }
    if (around !== undefined) {
      const [seq] = originals.named(around);
      return seq === undefined ? notThere([around]) : yield* this.#readInOrder(originals.around(seq));
    }
    const ranges = rangesOf(originals, this.#asked);
    if (ranges === null) return notThere([overlayId ?? ""]);
    if (query === undefined) return yield* this.#readInOrder(originals.newest(ranges));
    if (ranges.length > 0) return yield* this.#readByWords(query, ranges);
    return nothing(
      "nothing-hidden",
      "No summary hides anything here: all of this conversation is in your context. To search it all the same, say everywhere.",
    );
  }

  // --- originals that were named --------------------------------------------------------------------------------------

  /** Reads originals, nearest first, until the answer is full. Each is whole, or its beginning and end. `count` is their number, where it is known. */
  *#readInOrder(seqs: Iterable<number>, count: number | null = null, unknown: readonly string[] = []): Slices<Recall> {
    const { maxTokens, from, ids } = this.#asked;
    const items: Shown[] = [];
    let [left, looked, isFull] = [maxTokens - NOTE_TOKENS, 0, false];
    for (const seq of seqs) {
      const original = this.#originals.read(seq);
      looked++;
      yield;
      if (original === null) continue;
      if (from !== undefined && ids?.length === 1) return this.#readOn(original, from);
      const shares = count === null ? MOST_SHARES : Math.min(MOST_SHARES, count - looked + 1);
      const costOf = (shown: Shown): number => this.#countTokens(`${quote([shown]).text}\n\n`);
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
    return this.#write({ items, lines, isBeside: () => false, leftOut });
  }

  /**
   * Reads one original word for word, in pieces that fit an answer. Each piece says how to ask for the next. A stored message stays the
   * same, so the characters of one answer go on where those of the one before it ended.
   */
  #readOn(original: Original, asked: number): Recall {
    const { maxTokens } = this.#asked;
    const whole = wholeText(original);
    const described = this.#describe(original);
    const { reference } = described;
    // Half of a character cannot be stored, so a piece that would begin with one begins with the whole.
    const from = /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(whole.slice(asked - 1, asked + 1)) ? asked - 1 : asked;
    if (from > 0 && from >= whole.length) {
      return nothing("unknown", `${reference} has ${whole.length} characters, which were all read.`);
    }
    const answer = (to: number): string => {
      const next = to === whole.length ? "" : ` For what follows: ids: ["${reference}"], from: ${to}.`;
      const isAll = from === 0 && to === whole.length;
      const range = isAll ? "" : `\n\n(Characters ${from} to ${to} of ${whole.length}.${next})`;
      return `${headerOf(original)}\n${whole.slice(from, to)}${range}`;
    };
    const fits = (end: number): boolean => this.#countTokens(answer(end)) <= maxTokens;
    const to = endWithin(whole, { from, maxTokens, fits });
    const messages = [{ ...described, clipped: from > 0 || to < whole.length, beside: false }];
    return { kind: "found", text: answer(to), messages, leftOut: 0 };
  }

  // --- originals by words ---------------------------------------------------------------------------------------------

  /** The passages that say most of the question, with their neighbours. */
  *#readByWords(query: string, ranges: readonly SeqRange[]): Slices<Recall> {
    const originals = this.#originals;
    const near = this.#near;
    const { maxTokens, everywhere } = this.#asked;
    const { asks, isQuestion, isWork } = readQuestion(query);
    const { matches, lost } = this.#match(asks, ranges, isWork);
    const isWithin = hasRequired(matches);
    const hits = new Set(matches.flatMap(({ seqs }) => seqs).filter(isWithin));
    const topics = isQuestion ? originals.matches(topicAsks(query), { ranges, rows: TOPIC_ROWS }) : [];
    // What is said of a topic is no answer about a name that nobody said.
    const isTopic = !lost.some(({ isName }) => isName) && topics.some(({ seqs }) => seqs.some(isWithin));
    const isFound = hits.size > 0 || (near !== undefined && near.seqs.size > 0);
    const partial = sayPartial(originals.countPartial(ranges));
    if (!isFound && !isTopic) {
      const where = everywhere === true ? "" : "What you can see already was not searched; for that, say everywhere.";
      const advice = ["No message has any of these words. Try other ones.", where, partial, sayMeaning(near)];
      const text = advice.filter((each) => each !== "").join(" ");
      return { kind: "nothing", reason: "no-match", text, ...(near !== undefined && { byMeaning: near.state }) };
    }
    const all = [...matches, ...topics].map((each) => ({ ...each, seqs: each.seqs.filter(isWithin) }));
    const isInside = (seq: number): boolean => isIn(ranges, seq);
    const byWords = rankMessages(all, isInside);
    const most = Math.ceil(maxTokens / TOKENS_OF_A_TURN);
    const read = yield* readRanked(originals, near?.rank(byWords, isInside) ?? byWords, most);
    const passages = read.flatMap((each) => each.passages);
    const worth = yield* weighPassages(passages, all);
    const taken = yield* choosePassages(passages, {
      worth: near?.weigh(read, passages, worth) ?? worth,
      budget: maxTokens - NOTE_TOKENS,
      costOf: ({ seq, text }, chosen) => this.#countTokens(`${text}\n`) + (chosen.has(seq) ? 0 : HEADER_TOKENS),
    });
    const bySeq = new Map(read.map((each) => [each.seq, each]));
    const isCounted = matches.every((each) => each.isAll);
    return this.#write({
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
  #match(asks: readonly Ask[], ranges: readonly SeqRange[], isWork: boolean): { matches: Match[]; lost: Ask[] } {
    const matches = this.#originals.matches(asks, { ranges, rows: ASKED_ROWS });
    if (isWork) return { matches, lost: [] };
    const lost = matches.filter(({ seqs }) => seqs.length === 0);
    const beginnings = lost.flatMap((ask) => beginningOf(ask) ?? []);
    return { matches: [...matches, ...this.#originals.matches(beginnings, { ranges, rows: BEGINNING_ROWS })], lost };
  }

  // --- the text -------------------------------------------------------------------------------------------------------

  /** Shows as many of the items as fit, in the order of the conversation, and says behind them what is left out. */
  #write({ items, before = "", lines: [first = "", ...others], isBeside, leftOut: countLeft }: Draft): Recall {
    const near = this.#near;
    for (let kept = items.length; kept > 0; kept -= Math.ceil(kept / 50)) {
      const shown = inOrder(items.slice(0, kept));
      const { text: quoted, clipped } = quote(shown);
      const leftOut = countLeft(shown);
      const cut = shown.find(({ read }) => clipped.has(read.seq))?.read.message.id;
      const lines = [
        first,
        leftOut === 0 ? "" : `${leftOut ?? "More"} not shown: ask for fewer, or with words that only one has.`,
        cut === undefined
          ? ""
          : `Cut short, as marked. For all of one, piece by piece, ask for it alone: ids: ["${referenceTo(cut)}"], from: 0.`,
        ...others,
      ].filter((line) => line !== "");
      const text = `${before}${quoted}${lines.length === 0 ? "" : `\n\n(${lines.join(" ")})`}`;
      if (this.#countTokens(text) > this.#asked.maxTokens) continue;
      const messages = shown.map(({ read }) => ({
        ...this.#describe(read),
        clipped: clipped.has(read.seq),
        beside: isBeside(read.seq),
      }));
      return { kind: "found", text, messages, leftOut, ...(near !== undefined && { byMeaning: near.state }) };
    }
    return nothing("no-match", "What was found does not fit. Ask with a larger maxTokens.");
  }

  #describe({ seq, message: { id, role }, createdAt }: Original): Omit<RecalledMessage, "clipped" | "beside"> {
    return { id, reference: referenceTo(id), role, createdAt, overlayId: this.#originals.overlayOver(seq) };
  }
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

function excerptOf(read: ReadMessage, fits: (shown: Shown) => boolean): Shown | null {
  const all = { read, passages: read.passages };
  if (fits(all)) return all;
  for (const chars of EXCERPT_CHARS) {
    const part = { read, passages: endsOf(read, chars) };
    if (fits(part)) return part;
  }
  return null;
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
function* readRanked(originals: HiddenMessages, ranked: readonly number[], most: number): Slices<ReadMessage[]> {
  const read: ReadMessage[] = [];
  const shapes = new Set<string>();
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  let [chars, looked, fresh] = [0, 0, 0];
  for (const seq of ranked.slice(0, ALIKE_READS * most)) {
    if (fresh >= most) break;
    const original = originals.read(seq);
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

/** A range that an overlay of the view hides, wholly or in part. */
export interface HiddenRange extends SeqRange {
  readonly overlayId: string;
}

/**
 * Locates original messages that the overlays of the active branch hide: turns words, names, overlays and neighbours into the
 * numbers of messages. A message costs a row when it is read, so a reader reads until it has enough. Made for one question, because it caches the shape of the view.
 *
 * A branch consists of a few ranges of the table. Within a range each row is the parent of the next, because only marked rows start
 * elsewhere (src/memory/schema.ts). So it can tell whether an overlay covers a message without walking there.
 */
export class HiddenMessages {
  readonly #tree: Tree;
  readonly #search: MessageSearch;
  #branches: { seq: number; parentSeq: number | null }[] | null = null;
  #hidden: readonly HiddenRange[] | null = null;

  constructor(tree: Tree, search: MessageSearch) {
    this.#tree = tree;
    this.#search = search;
  }

  /** The ranges that overlays of the active view hide. Reads the view without content, and a row for each branch. */
  hidden(): readonly HiddenRange[] {
    if (this.#hidden === null) {
      const leaf = this.#tree.newest();
      const start = leaf === null ? null : { seq: leaf.seq, step: WHOLE_MESSAGE };
      const view = start === null ? [] : [...walkView(this.#tree, start, { content: false })];
      this.#hidden = view.flatMap((element) => (element.kind === "overlay" ? this.under(element.overlay) : []));
    }
    return this.#hidden;
  }

  /** The ranges that an overlay covers, newest first, in any state of the overlay. */
  under({ overlayId, fromSeq, toSeq }: Pick<OverlayRow, "overlayId" | "fromSeq" | "toSeq">): HiddenRange[] {
    return this.#stretches(toSeq).flatMap((each) =>
      each.toSeq < fromSeq ? [] : [{ overlayId, fromSeq: Math.max(fromSeq, each.fromSeq), toSeq: each.toSeq }],
    );
  }

  /** The overlay of the view that hides a message. Null when none does. */
  overlayOver(seq: number): string | null {
    return this.hidden().find((range) => seq >= range.fromSeq && seq <= range.toSeq)?.overlayId ?? null;
  }

  /** The whole session. */
  everything(): readonly SeqRange[] {
    return [{ fromSeq: 0, toSeq: this.#tree.newest()?.seq ?? 0 }];
  }

  /** For each ask, finds the messages in the ranges that have it. */
  matches(asks: readonly Ask[], { ranges, rows }: { ranges: readonly SeqRange[]; rows: number }): Match[] {
    if (asks.length === 0) return [];
    // Deleted messages count too.
    const messages = ranges.reduce((sum, { fromSeq, toSeq }) => sum + toSeq - fromSeq + 1, 0);
    const found = this.#search.messagesWith(asks, { sessionId: this.#tree.sessionId, ranges, rows });
    return found.map(({ ask, seqs, isAll }) => ({ ...ask, seqs, isAll, weight: weightOf(seqs, messages) }));
  }

  /** Every place in the ranges, newest first. */
  *newest(ranges: readonly SeqRange[]): Generator<number> {
    for (const { fromSeq, toSeq } of ranges.toSorted((a, b) => b.toSeq - a.toSeq)) {
      for (let seq = toSeq; seq >= fromSeq; seq--) yield seq;
    }
  }

  /** The number of messages that a search sees only in part. */
  countPartial(ranges: readonly SeqRange[]): number {
    return this.#search.countPartial(this.#tree.sessionId, ranges);
  }

  /** Finds messages by a message's id, by the view's id for a part of it, or by a reference. Empty when there is none. */
  named(name: string): number[] {
    const row = this.#tree.find(storedId(name));
    if (row !== null) return [row.seq];
    const hash = hashOf(name.replace(/^\[(.*)\]$/, "$1"));
    return hash === null ? [] : this.#tree.findByHash(hash).map(({ seq }) => seq);
  }

  overlayNamed(name: string): OverlayRow | null {
    const synthetic = parseSyntheticId(name);
    const id = synthetic?.kind === "overlay" ? synthetic.overlayId : name;
    return this.#tree.sql.overlayById(this.#tree.sessionId, id) ?? null;
  }

  /**
   * The place itself, then its nearest neighbours before and after, taken in turns. Follows the active branch if the
   * place is on it. Otherwise it only follows the ancestors.
   */
  *around(seq: number): Generator<number> {
    const leaf = this.#tree.newest();
    const active = leaf === null ? [] : this.#stretches(leaf.seq);
    const path = isIn(active, seq) ? active : this.#stretches(seq);
    const last = path[0]?.toSeq ?? seq;
    yield seq;
    for (let far = 1; seq - far >= 0 || seq + far <= last; far++) {
      for (const at of [seq - far, seq + far]) if (isIn(path, at)) yield at;
    }
  }

  /** Where a host keeps the messages, asks for several at once before they are read. */
  need(seqs: readonly number[]): void {
    const { contents } = this.#tree;
    if (contents.host !== null) contents.need(seqs.flatMap((seq) => this.#tree.content(seq) ?? []));
  }

  /** Returns null for a message that was deleted or pruned, and for a record, whose messages are in the previous session. */
  read(seq: number): Original | null {
    const row = this.#tree.content(seq);
    return row === undefined || row.id.startsWith(RECORD_PREFIX) || isPruned(row)
      ? null
      : { seq, message: this.#tree.decode(row), createdAt: row.createdAt };
  }

  /** The path down from a place, newest range first. */
  #stretches(seq: number): SeqRange[] {
    this.#branches ??= this.#tree.sql.branchRows(this.#tree.sessionId);
    return pathParts(this.#branches, seq);
  }
}
