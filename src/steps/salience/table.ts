/**
 * How warm each naming word of some messages is: who said it, how often and how lately, and where.
 *
 * Boundary: sayings in, a table out; tables of consecutive parts add up to the table of the whole, whatever the parts. Safe to
 * keep beside a draft: plain JSON, and never more than `MAX_WORDS` rows, the warmest, however long the conversation is.
 */
import { wordsIn } from "./words.ts";

/** Naming words that the table of a span holds, the warmest, and places of each: some 150 kB of JSON, kept with each draft. */
export const MAX_WORDS = 3_000;
export const MAX_WORD_PLACES = 4;

/** A text of one message. `written`: a user or the agent put it there, in a message or as what a tool was asked. */
export interface Saying {
  readonly written: boolean;
  readonly text: string;
}

/**
 * One word: its heat from where it was written and from where it was only read, in how many places it stood, and the last of
 * them. HiddenMessages are counted from the beginning of what the table tells of.
 */
export type WordRow = readonly [
  word: string,
  written: number,
  read: number,
  count: number,
  ...places: readonly number[],
];

/** The words of consecutive messages. */
export interface Words {
  readonly messages: number;
  /** How many places all of it has: pieces of text of a few lines. */
  readonly places: number;
  readonly rows: readonly WordRow[];
}

export const NO_WORDS: Words = { messages: 0, places: 0, rows: [] };

/** What is left of a heat one message later: half of it after 34 messages. */
const FADES_TO = 0.98;
/** A name that nobody but a tool said is a third as likely to be written soon as one that was written before. */
export const READ_SHARE = 0.35;
/** Characters of one place: words that stand this close belong together. */
const PLACE_CHARS = 400;
/** HiddenMessages of one message that are read: the words of a longer one were all said in its first half megabyte. */
const MAX_PLACES = 1_500;
/** Digits of a heat that tell two apart. */
const ROUND = 1_000;

/** The table of one message. A word that was asked of a tool and comes back in its answer was not read there. */
export function gatherWords(sayings: readonly Saying[]): Words {
  const found = new Map<string, { written: boolean; count: number; places: number[] }>();
  let places = 0;
  for (const { written, text } of sayings) {
    for (const piece of cutIntoPlaces(text)) {
      if (places >= MAX_PLACES) break;
      const words = new Set(wordsIn(piece));
      for (const word of words) {
        const known = found.get(word) ?? { written: false, count: 0, places: [] };
        known.written ||= written;
        known.count++;
        known.places.push(places);
        found.set(word, known);
      }
      if (words.size > 0) places++;
    }
  }
  const rows = [...found].map(([word, { written, count, places: at }]): WordRow => {
    return [word, written ? FADES_TO : 0, written ? 0 : FADES_TO, count, ...at.slice(-MAX_WORD_PLACES)];
  });
  return { messages: 1, places, rows: boundRows(rows) };
}

/** The table of all parts, which are given oldest first. */
export function mergeWords(parts: readonly Words[]): Words {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const all = new Map<string, WordRow>();
  const messages = parts.reduce((sum, part) => sum + part.messages, 0);
  let [read, places] = [0, 0];
  for (const part of parts) {
    read += part.messages;
    const fade = FADES_TO ** (messages - read);
    for (const row of part.rows) all.set(row[0], addRows(all.get(row[0]), shiftRow(row, { fade, by: places })));
    places += part.places;
  }
  return { messages, places, rows: boundRows([...all.values()]) };
}

/** How warm a word is, wherever its warmth came from. */
export function heatOf([, written, read]: WordRow): number {
  return written + READ_SHARE * read;
}

function shiftRow(row: WordRow, { fade, by }: { fade: number; by: number }): WordRow {
  const [word, written, read, count, ...places] = row;
  return [word, round(written * fade), round(read * fade), count, ...places.map((place) => place + by)];
}

function addRows(earlier: WordRow | undefined, later: WordRow): WordRow {
  if (earlier === undefined) return later;
  const [word, written, read, count, ...places] = earlier;
  const [, writtenLater, readLater, countLater, ...placesLater] = later;
  const last = [...places, ...placesLater].slice(-MAX_WORD_PLACES);
  return [word, round(written + writtenLater), round(read + readLater), count + countLater, ...last];
}

/** The warmest, in the order that they have. Of equal heat, those that come later. */
function boundRows(rows: readonly WordRow[]): readonly WordRow[] {
  if (rows.length <= MAX_WORDS) return rows;
  const ranked = rows.map((row, at) => ({ row, at, heat: heatOf(row) }));
  const warmest = ranked.toSorted((a, b) => b.heat - a.heat || b.at - a.at).slice(0, MAX_WORDS);
  return warmest.toSorted((a, b) => a.at - b.at).map(({ row }) => row);
}

function round(heat: number): number {
  return Math.round(heat * ROUND) / ROUND;
}

/** Whole lines, some hundred characters together; a longer line is cut at a blank where it has one. */
function* cutIntoPlaces(text: string): Generator<string> {
  let piece = "";
  for (const line of text.split("\n")) {
    if (piece !== "" && piece.length + line.length > PLACE_CHARS) {
      yield piece;
      piece = "";
    }
    piece = piece === "" ? line : `${piece}\n${line}`;
    let from = 0;
    while (piece.length - from > 2 * PLACE_CHARS) {
      // Looked for in this place alone: a line without a blank would be read back to its beginning each time.
      const blank = piece.slice(from, from + PLACE_CHARS).lastIndexOf(" ");
      const to = from + (blank > 0 ? blank : PLACE_CHARS);
      yield piece.slice(from, to);
      from = to;
    }
    if (from > 0) piece = piece.slice(from);
  }
  if (piece !== "") yield piece;
}
