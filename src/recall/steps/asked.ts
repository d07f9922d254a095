/**
 * Reads the asks of a question to `recall`, and ranks the messages that may answer it by the places of its words.
 *
 * A text and the index's hits in, message numbers out, best first. It reads no message. It is safe because asks are
 * only compared with texts, so nothing in a question is an operator.
 */
import { MAX_QUERY_TERMS } from "../../limits.ts";
import { askedWords, spellingsOf, wordsOfText } from "./stems.ts";

/** A word in any of its forms, or adjacent words. */
export interface Ask {
  /** The word as it was written. */
  readonly word: string;
  readonly forms: readonly string[];
  /** Two characters of a script without blanks. */
  readonly isPair: boolean;
  /** Adjacent words, of which the last may be longer in the text. Null for a word in any form. */
  readonly phrase: { readonly text: string; readonly isBeginning: boolean } | null;
  /** True when it may be a name, which other languages decline. */
  readonly isName: boolean;
  /** True for another spelling of what is asked, such as `getuser` for "get-user". */
  readonly isSpelling: boolean;
  /** True when only messages that have it, and their neighbours, can be an answer. */
  readonly isRequired: boolean;
}

/** Characters of a question that are read. A page of text is enough to tell its subject. */
const MAX_QUESTION_CHARS = 2_000;

/** An ask without a word. */
export const NO_WORD: Ask = {
  word: "",
  forms: [],
  isPair: false,
  phrase: null,
  isName: false,
  isSpelling: false,
  isRequired: false,
};

const PIECES = /"([^"]*)"?(\*?)|([^\s"]+)/g;

/**
 * The asks of a question: its words, `begin*`, and `"adjacent words"`. The last two are required only if the question
 * has nothing else, because a question may quote a title, and a text may quote anybody.
 */
export function readQuestion(query: string): Ask[] {
  const exact: Ask[] = [];
  const rest: string[] = [];
  for (const [, phrase, star, word = ""] of query.slice(0, MAX_QUESTION_CHARS).matchAll(PIECES)) {
    const text = phrase ?? word.replace(/\*+$/, "");
    const isBeginning = star === "*" || (phrase === undefined && word.endsWith("*"));
    if (phrase !== undefined || !isBeginning) rest.push(text);
    if ((phrase !== undefined || isBeginning) && wordsOfText(text).length > 0) {
      exact.push({ ...NO_WORD, word: text, phrase: { text, isBeginning } });
    }
  }
  const words = askWords(rest.join(" "));
  const work = workShare(query, words);
  const known = new Set(words.map(({ word }) => word));
  const others =
    work === 1 ? [] : askWords(spellingsOf(rest.join(" ")).join(" ")).filter(({ word }) => !known.has(word));
  const spellings = others.map((each) => ({ ...each, isSpelling: true }));
  if (work > 0) return [...words, ...spellings].slice(0, MAX_QUERY_TERMS);
  const isExact = exact.length > 0 && rest.length === exact.filter(({ phrase }) => phrase?.isBeginning !== true).length;
  if (isExact) return exact.slice(0, MAX_QUERY_TERMS).map((each) => ({ ...each, isRequired: true }));
  return [...exact, ...words, ...spellings].slice(0, MAX_QUERY_TERMS);
}

/**
 * Up to `FEW_WORDS` words ask for something, or up to `QUESTION_WORDS` if they end in a question mark. Twice as many
 * describe work in progress.
 */
const FEW_WORDS = 5;
const QUESTION_WORDS = 10;
const QUESTION = /[?？؟]["'”’)]*\s*$/;

/** How much a text with these asks describes work in progress: 0 for a question, 1 for a paragraph. */
export function workShare(text: string, asks: readonly Ask[]): number {
  const few = QUESTION.test(text) ? QUESTION_WORDS : FEW_WORDS;
  const words = asks.filter(({ isSpelling }) => !isSpelling).length;
  return Math.min(1, Math.max(0, (words - few) / few));
}

/** Whether a text asks for something said, and does not describe work. */
export function asksForStatement(text: string, asks: readonly Ask[]): boolean {
  return QUESTION.test(text) && workShare(text, asks) === 0;
}

/** The asks of a text that is no explicit question. */
export function askWords(text: string): Ask[] {
  return askedWords(text.slice(0, MAX_QUESTION_CHARS)).map((each) => ({ ...NO_WORD, ...each }));
}

/** The asks that are not found. A word is found with another spelling that holds it. */
export function lostAmong<Each extends Ask>(asks: readonly Each[], isFound: (ask: Each) => boolean): Each[] {
  const found = asks.filter((ask) => ask.isSpelling && isFound(ask));
  return asks.filter((ask) => !ask.isSpelling && !isFound(ask) && !found.some(({ word }) => word.includes(ask.word)));
}

/** The share of a name's letters that an ending may take, and letters that it leaves. */
const NAME_ENDING_SHARE = 0.25;
const LEAST_NAME = 4;

/** The beginning of a name, by which it is looked for where no message has the name itself. Null for other words. */
export function beginningOf({ word, isName }: Ask): Ask | null {
  if (!isName || word.length <= LEAST_NAME) return null;
  const text = word.slice(0, Math.max(LEAST_NAME, Math.floor((1 - NAME_ENDING_SHARE) * word.length)));
  return { ...NO_WORD, word, phrase: { text, isBeginning: true } };
}

/** The messages that match an ask, by number, newest first. */
export interface Holding {
  readonly seqs: readonly number[];
  /** False when there are older matches, too. */
  readonly isAll: boolean;
}

/** The least weight of a word. A word in half of the messages distinguishes none. */
const LEAST_WEIGHT = 0.05;

/** The weight of a word by the number of its messages, its inverse document frequency as in BM25. */
export function weightOf({ seqs, isAll }: Holding, messages: number): number {
  if (seqs.length === 0) return 0;
  // A word that was counted only in a part of the messages is assumed to be as frequent in the rest.
  const span = (seqs[0] ?? 0) - (seqs.at(-1) ?? 0) + 1;
  const having = isAll ? seqs.length : Math.min(messages, Math.max(seqs.length, (seqs.length / span) * messages));
  return Math.max(LEAST_WEIGHT, Math.log((messages - having + 0.5) / (having + 0.5)));
}

/**
 * The share of a match that its neighbours get, by distance. People speak about one thing for many short turns, and
 * a question is about such talk. Where work is described, what is near is less often about the same.
 */
const NEAR_IN_TALK: readonly number[] = [1, 0.5, 0.4, 0.33, 0.28, 0.24, 0.2, 0.17, 0.14, 0.12, 0.1];
const NEAR_IN_WORK: readonly number[] = [1, 0.5, 0.4, 0.3, 0.2];

/** The shares for a question, or for other texts. */
export function nearShares(isQuestion: boolean): readonly number[] {
  return isQuestion ? NEAR_IN_TALK : NEAR_IN_WORK;
}

/** The part of its weight with which a word counts for a message when it is found near that message a second time, or more often. */
export const AGAIN_SHARE = 0.3;

export interface Within {
  readonly isInside: (seq: number) => boolean;
  /** The result of {@link nearShares}. */
  readonly near: readonly number[];
}

/** Messages in the order in which they are likely to answer, including neighbours of a hit. */
export function rankMessages(
  held: readonly { readonly weight: number; readonly seqs: readonly number[] }[],
  { isInside, near: shares }: Within,
): number[] {
  const worth = new Map<number, number>();
  for (const { weight, seqs } of held) {
    const found = new Map<number, { best: number; sum: number }>();
    for (const seq of seqs) {
      for (let near = seq - shares.length + 1; near < seq + shares.length; near++) {
        const share = weight * (shares[Math.abs(near - seq)] ?? 0);
        const known = found.get(near) ?? { best: 0, sum: 0 };
        found.set(near, { best: Math.max(known.best, share), sum: known.sum + share });
      }
    }
    for (const [seq, { best, sum }] of found) worth.set(seq, (worth.get(seq) ?? 0) + best + AGAIN_SHARE * (sum - best));
  }
  const ranked = [...worth].filter(([seq]) => isInside(seq)).toSorted((a, b) => b[1] - a[1] || b[0] - a[0]);
  return ranked.map(([seq]) => seq);
}
