/**
 * What a question to `recall` asks for, and which messages are likely to answer it, by where its words stand.
 *
 * Boundary: a text, and where the index has its words, in; numbers of messages out, best first. No message is read for it. Safe
 * because what is asked for is only compared with texts: nothing in a question is an operator.
 */
import { MAX_QUERY_TERMS } from "../../limits.ts";
import { askedWords, wordsOfText } from "./stems.ts";

/** A word in any of its forms, or words side by side. */
export interface Ask {
  /** As it was written. */
  readonly word: string;
  readonly forms: readonly string[];
  /** Two characters of a script without blanks. */
  readonly isPair: boolean;
  /** Words that stand side by side, the last of which may go on; null for a word in any form. */
  readonly phrase: { readonly text: string; readonly isBeginning: boolean } | null;
  /** Only messages that have it are an answer, and what stands beside them. */
  readonly isRequired: boolean;
}

/** Characters of a question that are looked at: a page of text says all that it is about. */
const MAX_QUESTION_CHARS = 2_000;

const PIECES = /"([^"]*)"?(\*?)|([^\s"]+)/g;

/**
 * The words of a question, `begin*`, and `"words side by side"`, which must occur where nothing else is asked for: a question may quote
 * a title, and a text may quote anybody.
 */
export function readQuestion(query: string): Ask[] {
  const exact: Ask[] = [];
  const rest: string[] = [];
  for (const [, phrase, star, word = ""] of query.slice(0, MAX_QUESTION_CHARS).matchAll(PIECES)) {
    const text = phrase ?? word.replace(/\*+$/, "");
    const isBeginning = star === "*" || (phrase === undefined && word.endsWith("*"));
    if (phrase !== undefined || !isBeginning) rest.push(text);
    if ((phrase !== undefined || isBeginning) && wordsOfText(text).length > 0) {
      exact.push({ word: text, forms: [], isPair: false, phrase: { text, isBeginning }, isRequired: false });
    }
  }
  const words = askWords(rest.join(" "));
  if (workShare(query, words.length) > 0) return words.slice(0, MAX_QUERY_TERMS);
  const isExact = exact.length > 0 && rest.length === exact.filter(({ phrase }) => phrase?.isBeginning !== true).length;
  if (isExact) return exact.slice(0, MAX_QUERY_TERMS).map((each) => ({ ...each, isRequired: true }));
  return [...exact, ...words].slice(0, MAX_QUERY_TERMS);
}

/** So few words ask for something, and so many do where a question mark says so; twice as many tell what is being worked on. */
const FEW_WORDS = 5;
const QUESTION_WORDS = 10;
const QUESTION = /[?？؟]["'”’)]*\s*$/;

/** How much a text that asks for so many words tells of work: 0 for a question, 1 for a paragraph. */
export function workShare(text: string, words: number): number {
  const few = QUESTION.test(text) ? QUESTION_WORDS : FEW_WORDS;
  return Math.min(1, Math.max(0, (words - few) / few));
}

/** The words of a text that is no question of its own. */
export function askWords(text: string): Ask[] {
  return askedWords(text.slice(0, MAX_QUESTION_CHARS)).map((each) => ({ ...each, phrase: null, isRequired: false }));
}

/** Messages that have what is asked for: their numbers, newest first. */
export interface Holding {
  readonly seqs: readonly number[];
  /** False when there are older ones, too. */
  readonly isAll: boolean;
}

/** A word that half of the messages have tells nothing. */
const LEAST_WEIGHT = 0.05;

/** How much a word tells that so many of the messages have: its inverse document frequency, as BM25 has it. */
export function weightOf({ seqs, isAll }: Holding, messages: number): number {
  if (seqs.length === 0) return 0;
  // Where it was counted in a part only, it is as frequent in the rest.
  const span = (seqs[0] ?? 0) - (seqs.at(-1) ?? 0) + 1;
  const having = isAll ? seqs.length : Math.min(messages, Math.max(seqs.length, (seqs.length / span) * messages));
  return Math.max(LEAST_WEIGHT, Math.log((messages - having + 0.5) / (having + 0.5)));
}

/** What a message has of its neighbours' words, by how far they are. */
const NEAR = [1, 0.5, 0.4, 0.3, 0.2] as const;
const AGAIN = 0.3;

/** Messages in the order in which they are likely to answer, those beside a hit among them. */
export function rankMessages(
  held: readonly { readonly weight: number; readonly seqs: readonly number[] }[],
  isInside: (seq: number) => boolean,
): number[] {
  const worth = new Map<number, number>();
  for (const { weight, seqs } of held) {
    const shares = new Map<number, { best: number; sum: number }>();
    for (const seq of seqs) {
      for (let near = seq - NEAR.length + 1; near < seq + NEAR.length; near++) {
        const share = weight * (NEAR[Math.abs(near - seq)] ?? 0);
        const known = shares.get(near) ?? { best: 0, sum: 0 };
        shares.set(near, { best: Math.max(known.best, share), sum: known.sum + share });
      }
    }
    for (const [seq, { best, sum }] of shares) worth.set(seq, (worth.get(seq) ?? 0) + best + AGAIN * (sum - best));
  }
  const ranked = [...worth].filter(([seq]) => isInside(seq)).toSorted((a, b) => b[1] - a[1] || b[0] - a[0]);
  return ranked.map(([seq]) => seq);
}
