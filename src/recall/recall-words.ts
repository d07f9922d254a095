/**
 * `recall` by words. It returns the passages that say most of the question, with their neighbours, within a token budget.
 *
 * Asks the index for the places of the words, reads the likely messages, and chooses passages from them. Reads no more message rows than
 * fit into the answer, and a bounded number of index rows. It pauses after each piece of {@link PASSAGES_PIECE_CHARS} characters, or
 * after one message, so that its driver can let other work in.
 */
import type { HiddenMessages } from "./hidden-messages.ts";
import type { SeqRange } from "../memory/search/search-rows.ts";
import { type CountTokens, referenceTo } from "../steps/message/message.ts";
import {
  askWords,
  beginningOf,
  asksForStatement,
  lostAmong,
  nearShares,
  rankMessages,
  readQuestion,
  weightOf,
  workShare,
  type Ask,
  type Holding,
} from "./steps/asked.ts";
import {
  choosePassages,
  cutMessage,
  PASSAGES_PIECE_CHARS,
  shapeOfCut,
  weighPassages,
  type MessageBlocks,
  type Passage,
} from "./steps/passages.ts";
import { topicAsks } from "./steps/topics.ts";
import { quote, type Quote, type Quoted } from "./steps/quote.ts";
import { Pace, type Slices } from "../steps/text/text.ts";
import type { Near } from "./by-meaning.ts";
import type { Recall } from "../agent/recalled.ts";

/** Tokens of an answer for each message that is read for it. A turn of a conversation is hardly shorter. */
export const TOKENS_OF_A_TURN = 20;
/** So many times as many are read while they differ from read ones in their numbers alone, as lines of a log do. */
const ALIKE_READS = 5;
/** Newest messages under the summaries that are read beside the matches, where the query describes work. */
const RECENT_MESSAGES = 20;
/**
 * Most characters of messages that an answer is chosen from. The first message is read at any size. Twice as many changed no result in
 * measurements.
 */
export const READ_CHARS = 400_000;
/** Most characters of messages that were read and then turned out too long to be included. After that no more are read. */
const LOOKED_CHARS = 1_000_000;
/** Index rows for all words of the query, and for the words of the message before it. */
export const ASKED_ROWS = 2_400;
const CONTEXT_ROWS = 400;
/** Index rows for the topics that a question names. */
export const TOPIC_ROWS = 1_200;
/** Index rows for the beginnings of names that no message has as they are asked. */
export const BEGINNING_ROWS = 400;
/** The weight of the previous message's words, and how many of them count. */
const CONTEXT_SHARE = 0.3;
const CONTEXT_WORDS = 16;
/** Tokens reserved for naming the omitted messages and how to ask for them. */
const NOTE_TOKENS = 100;
/** Tokens of the header line of a message, for one that follows another, and for one with a reference. */
const FOLLOWING_TOKENS = 4;
const HEADER_TOKENS = 11;

/** Stands before what only a topic found, so that nobody takes it for an answer. */
function sayTopicAlone(lost: readonly Ask[]): string {
  return `(No message has any of these words: ${sayWords(lost)}. What follows only speaks of a topic that the question names.)\n\n`;
}

/** Words that an answer says it lacks, and characters of each. */
const SAID_WORDS = 3;
const SAID_CHARS = 40;

function sayWords(asks: readonly Ask[]): string {
  const named = asks.slice(0, SAID_WORDS).map(({ word }) => JSON.stringify(word.slice(0, SAID_CHARS)));
  return named.join(", ");
}

export interface WordsAsked {
  readonly query: string;
  /** Null searches the whole session. */
  readonly ranges: readonly SeqRange[] | null;
  readonly maxTokens: number;
  /** Names in words what a search did not see. Called once the session is indexed. */
  readonly partial: () => string;
  /** What is near to the query by its meaning. Absent where the agent searches by words alone. */
  readonly near?: Near | undefined;
}

interface Within {
  readonly ranges: readonly SeqRange[] | null;
  readonly rows: number;
}

interface Held extends Ask, Holding {
  readonly weight: number;
}

/** Null when no message has any of the words, and none is near. */
export function* recallWords(
  places: HiddenMessages,
  { query, ranges, maxTokens, partial, near }: WordsAsked,
  countTokens: CountTokens,
): Slices<Recall | null> {
  const asks = readQuestion(query);
  const work = workShare(query, asks);
  const asksTalk = asksForStatement(query, asks);
  const { held, lost } = holdAsked(places, asks, { ranges, work });
  const hits = new Set(held.flatMap(({ seqs }) => seqs).filter(within(held)));
  const besides = asksTalk
    ? hold(places, topicAsks(query), { ranges, rows: TOPIC_ROWS })
    : contextOf(places, asks, { query, ranges, share: work });
  const isTopic = asksTalk && hasTopic(besides, { held, lost });
  const isFound = hits.size > 0 || (near !== undefined && near.seqs.size > 0);
  if (!isFound && !isTopic) return null;
  const votes = [...held, ...besides].map((each) => ({ ...each, seqs: each.seqs.filter(within(held)) }));
  const isInside = places.inside(ranges);
  const byWords = rankMessages(votes, { isInside, near: nearShares(asksTalk) });
  const ranked = near?.rank(byWords, { isInside }) ?? byWords;
  const recent = work === 0 ? [] : places.newest(ranges, RECENT_MESSAGES);
  const { cuts, alike } = yield* readCuts(places, { ranked, recent, most: Math.ceil(maxTokens / TOKENS_OF_A_TURN) });
  const passages = cuts.flatMap((cut) => cut.passages);
  const worth = yield* weighPassages(passages, votes, asksTalk);
  const { taken, repeats, unfit } = yield* choosePassages(passages, {
    worth: near?.weigh(cuts, passages, worth) ?? worth,
    work,
    budget: maxTokens - NOTE_TOKENS,
    costOf: ({ seq, text }, quoted) => countTokens(`${text}\n`) + headerTokens(seq, quoted),
  });
  const [before, lostAfter] = isFound ? ["", lost] : [sayTopicAlone(lost), []];
  const isCounted = held.every((each) => each.isAll);
  const seqsOf = (some: readonly number[]): number[] => some.flatMap((at) => passages[at]?.seq ?? []);
  const others = new Set(seqsOf([...taken, ...unfit]));
  const same = new Set([...alike, ...seqsOf(repeats)].filter((seq) => hits.has(seq) && !others.has(seq))).size;
  for (let kept = taken.length; kept > 0; kept -= Math.ceil(kept / 50)) {
    const shown = toQuoted(
      cuts,
      taken.slice(0, kept).flatMap((at) => passages[at] ?? []),
    );
    const quoted = quote(shown);
    const missed = hits.size - shown.filter(({ cut }) => hits.has(cut.seq)).length;
    const leftOut = isCounted || missed === 0 ? missed : null;
    const fitsAll = same === leftOut || (unfit.length === 0 && kept === taken.length);
    const behind = notes({
      shown,
      quoted,
      leftOut,
      same,
      fitsAll,
      lost: lostAfter,
      partial: [partial(), sayMeaning(near)].join(" ").trim(),
    });
    const text = `${before}${quoted.text}${behind}`;
    if (countTokens(text) > maxTokens) continue;
    const messages = shown.map(({ cut: { seq, message }, createdAt }) => ({
      id: message.id,
      reference: referenceTo(message.id),
      role: message.role,
      createdAt,
      overlayId: places.overlayOver(seq),
      clipped: quoted.clipped.has(seq),
      beside: !hits.has(seq) && near?.seqs.has(seq) !== true,
    }));
    return { kind: "found", text, messages, leftOut, ...(near !== undefined && { byMeaning: near.state }) };
  }
  return { kind: "nothing", reason: "no-match", text: "What was found does not fit. Ask with a larger maxTokens." };
}

function hold(places: HiddenMessages, asks: readonly Ask[], { ranges, rows }: Within): Held[] {
  const messages = places.count(ranges);
  return places.holding(asks, { ranges, rows }).map((holding, at) => {
    const [ask] = asks.slice(at);
    if (ask === undefined) throw new Error("More was found than was asked for.");
    return { ...ask, ...holding, weight: weightOf(holding, messages) };
  });
}

/**
 * Looks for the asks, and for names that no message has by their beginnings, because other languages decline them. A
 * question tells what is lost. A text about work has words that nobody said.
 */
function holdAsked(
  places: HiddenMessages,
  asks: readonly Ask[],
  { ranges, work }: { ranges: readonly SeqRange[] | null; work: number },
): { readonly held: readonly Held[]; readonly lost: readonly Ask[] } {
  const held = hold(places, asks, { ranges, rows: ASKED_ROWS });
  if (work > 0) return { held, lost: [] };
  const lost = lostAmong(held, ({ seqs }) => seqs.length > 0);
  const beginnings = lost.flatMap((ask) => beginningOf(ask) ?? []);
  if (beginnings.length === 0) return { held, lost };
  return { held: [...held, ...hold(places, beginnings, { ranges, rows: BEGINNING_ROWS })], lost };
}

/** What is said of a topic is no answer about a name that nobody said. */
function hasTopic(
  topics: readonly Held[],
  { held, lost }: { readonly held: readonly Held[]; readonly lost: readonly Ask[] },
): boolean {
  return !lost.some(({ isName }) => isName) && topics.some(({ seqs }) => seqs.some(within(held)));
}

function headerTokens(seq: number, quoted: ReadonlySet<number>): number {
  if (quoted.has(seq)) return 0;
  return quoted.has(seq - 1) || quoted.has(seq + 1) ? FOLLOWING_TOKENS : HEADER_TOKENS;
}

function within(held: readonly Held[]): (seq: number) => boolean {
  const required = held.filter((each) => each.isRequired).map(({ seqs }) => new Set(seqs));
  return (seq) => required.every((seqs) => seqs.has(seq));
}

/** Words of the user's last message, where the query describes work. A question states its own subject. */
function contextOf(
  places: HiddenMessages,
  asks: readonly Ask[],
  { query, ranges, share }: { query: string; ranges: readonly SeqRange[] | null; share: number },
): Held[] {
  if (share === 0 || asks.some((each) => each.isRequired)) return [];
  const asked = places.lastUserText();
  if (asked === null || asked.trim() === query.trim()) return [];
  const known = new Set(asks.map(({ word }) => word));
  const more = askWords(asked).filter(({ word }) => !known.has(word));
  const held = hold(places, more.slice(0, CONTEXT_WORDS), { ranges, rows: CONTEXT_ROWS });
  return held.map((each) => ({ ...each, weight: each.weight * CONTEXT_SHARE * share }));
}

interface Read extends MessageBlocks {
  readonly createdAt: number;
}

interface ToRead {
  /** Best first. */
  readonly ranked: readonly number[];
  /** Read in any case. */
  readonly recent: readonly number[];
  /** Ranked messages that differ from each other in more than numbers, and as many more that do not. */
  readonly most: number;
}

/** The messages in the order of the conversation, and the `seq` of those left out because enough others look the same. */
function* readCuts(
  places: HiddenMessages,
  { ranked, recent, most }: ToRead,
): Slices<{ readonly cuts: readonly Read[]; readonly alike: readonly number[] }> {
  const read: Read[] = [];
  const alike: number[] = [];
  const shapes = new Set<string>();
  const pace = new Pace(PASSAGES_PIECE_CHARS);
  let [chars, looked, fresh] = [0, 0, 0];
  const latest = new Set(recent);
  for (const [at, seq] of [...new Set([...ranked, ...recent])].entries()) {
    if ((fresh >= most || at >= ALIKE_READS * most) && !latest.has(seq)) continue;
    const original = places.read(seq);
    if (original === null) continue;
    const cut = cutMessage(original);
    const size = cut.blocks.reduce((sum, { text }) => sum + text.length, 0);
    if (pace.isOver(size)) yield;
    looked += size;
    if (read.length > 0 && looked > LOOKED_CHARS) break;
    const shape = shapeOfCut(cut);
    const isAlike = shape !== null && shapes.has(shape);
    if (isAlike && read.length - fresh >= most) {
      alike.push(seq);
      continue;
    }
    if (read.length > 0 && chars + size > READ_CHARS) continue;
    chars += size;
    if (shape !== null) shapes.add(shape);
    if (!isAlike) fresh++;
    read.push({ ...cut, createdAt: original.createdAt });
  }
  return { cuts: read.toSorted((a, b) => a.seq - b.seq), alike };
}

interface QuotedMessage extends Quoted {
  readonly createdAt: number;
}

function toQuoted(cuts: readonly Read[], passages: readonly Passage[]): QuotedMessage[] {
  const bySeq = Map.groupBy(passages, ({ seq }) => seq);
  return cuts.flatMap((cut) => {
    const shown = bySeq.get(cut.seq);
    const { createdAt } = cut;
    return shown === undefined
      ? []
      : [{ cut, createdAt, day: new Date(createdAt).toISOString().slice(0, 10), passages: shown }];
  });
}

/** Says what of a search by meaning was not done. */
export function sayMeaning(near: Pick<Near, "state"> | undefined): string {
  if (near === undefined) return "";
  if (near.state.kind === "failed") return "Searched by words alone, because the search by meaning does not work now.";
  const { waiting } = near.state;
  return waiting === 0 ? "" : `Of ${waiting} of the messages only the words were searched.`;
}

interface Notes {
  readonly shown: readonly Quoted[];
  readonly quoted: Quote;
  readonly leftOut: number | null;
  /** Of those left out, the messages that say nearly the same as one that is shown. */
  readonly same: number;
  /** True when none was left out because of its size. */
  readonly fitsAll: boolean;
  readonly lost: readonly Ask[];
  readonly partial: string;
}

function notes({ shown, quoted, leftOut, same, fitsAll, lost, partial }: Notes): string {
  const clipped = shown.find(({ cut }) => quoted.clipped.has(cut.seq));
  const lines = [
    ...(lost.length === 0 ? [] : [`No message has ${sayWords(lost)}.`]),
    ...(leftOut === 0
      ? []
      : [
          `${leftOut ?? "More"} not shown${fitsAll ? "" : " for want of room"}: ask for fewer, or with words that only one has.`,
        ]),
    ...(same === 0 ? [] : [`${same} of them say nearly the same as one that is.`]),
    ...(clipped === undefined
      ? []
      : [
          `Cut short, as marked. For all of one, ask for it alone: ids: ["${referenceTo(clipped.cut.message.id)}"], from: 0.`,
        ]),
    ...(partial === "" ? [] : [partial]),
  ];
  return lines.length === 0 ? "" : `\n\n(${lines.join(" ")})`;
}
