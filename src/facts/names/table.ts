/**
 * The heat of each naming word in some messages, by how often and how lately it was said, by whom and where.
 *
 * Texts in, a table out. The tables of consecutive parts add up to the table of the whole, in any division. A table can
 * be kept beside a draft, because it is plain JSON with at most `MAX_WORDS` rows, the warmest, for a conversation of
 * any length.
 */
import { wordsIn } from "../words.ts";

/**
 * Most naming words in the table of a span, the warmest ones, and most places of each. This is some 150 kB of JSON,
 * kept with each draft.
 */
export const MAX_WORDS = 3_000;
export const MAX_WORD_PLACES = 4;

/** A text of one message. `written` is true when a user or the agent wrote it, in a message or as the input of a tool. */
export interface Saying {
  readonly written: boolean;
  readonly text: string;
}

/**
 * One word with its heat from writing and from reading, the number of places with it, and the last of those places.
 * Places are numbered from the beginning of the messages in the table.
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
  /** The number of places in all the messages. A place is a piece of text of a few lines. */
  readonly places: number;
  readonly rows: readonly WordRow[];
}

export const NO_WORDS: Words = { messages: 0, places: 0, rows: [] };

/** The factor by which heat fades per message. Half of it is left after 34 messages. */
const FADES_TO = 0.98;
/** A name that only a tool said is a third as likely to be written soon as a name that was written before. */
export const READ_SHARE = 0.35;
/**
 * Naming words of an output that each have the whole heat of being read. A longer page or listing has to divide it,
 * because few of its words are written soon.
 */
const UNCROWDED_WORDS = 15;
/** Above the share of any output, because a word of an input that its output repeats is a written one. */
const WRITTEN = 2;
/** Characters of one place. Words within a place belong together. */
const PLACE_CHARS = 400;
/** Most places read of one message. The words of a longer message all occur in its first half megabyte. */
const MAX_PLACES = 1_500;
/** The precision of a stored heat, three digits after the point. */
const ROUND = 1_000;

/** The table of one message. A word of a tool's input that comes back in its output does not count as read. */
export function gatherWords(sayings: readonly Saying[]): Words {
  const found = new Map<string, { share: number; count: number; places: number[] }>();
  let places = 0;
  for (const { written, text } of sayings) {
    const seen = new Set<{ share: number }>();
    for (const piece of cutIntoPlaces(text)) {
      if (places >= MAX_PLACES) break;
      const words = new Set(wordsIn(piece));
      for (const word of words) {
        const known = found.get(word) ?? { share: 0, count: 0, places: [] };
        known.count++;
        known.places.push(places);
        found.set(word, known);
        seen.add(known);
      }
      if (words.size > 0) places++;
    }
    const share = written ? WRITTEN : Math.min(1, Math.sqrt(UNCROWDED_WORDS / seen.size));
    for (const known of seen) known.share = Math.max(known.share, share);
  }
  const rows = [...found].map(([word, { share, count, places: at }]): WordRow => {
    const written = share === WRITTEN ? FADES_TO : 0;
    return [word, written, written > 0 ? 0 : round(FADES_TO * share), count, ...at.slice(-MAX_WORD_PLACES)];
  });
  return { messages: 1, places, rows: boundRows(rows) };
}

/** The table of all parts, given oldest first. */
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

/** The heat of a word from writing and reading. */
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

/** The warmest rows, in their order. Among equal heat, later rows win. */
function boundRows(rows: readonly WordRow[]): readonly WordRow[] {
  if (rows.length <= MAX_WORDS) return rows;
  const warmest = new Set(
    rows
      .toReversed()
      .toSorted((a, b) => heatOf(b) - heatOf(a))
      .slice(0, MAX_WORDS),
  );
  return rows.filter((row) => warmest.has(row));
}

function round(heat: number): number {
  return Math.round(heat * ROUND) / ROUND;
}

/** Where a line may be cut. Chinese and Japanese have no blanks. */
const BREAK = /[ 。，、；：！？]/;

/** Whole lines, together some hundred characters. A longer line is cut at a blank or a mark where it has one. */
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
      // Searches only within this place. A search from the end of a line without blanks would run back to its beginning
      // each time.
      let to = from + PLACE_CHARS;
      while (to > from && !BREAK.test(piece.charAt(to))) to--;
      if (to === from) to += PLACE_CHARS;
      yield piece.slice(from, to);
      from = to;
    }
    if (from > 0) piece = piece.slice(from);
  }
  if (piece !== "") yield piece;
}
