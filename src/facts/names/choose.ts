/**
 * Chooses which hidden words to show, so that most of the words needed again fit in the fewest characters.
 *
 * A table of words, the words of the visible messages and a budget in, a list of words out. It is deterministic and never
 * exceeds its budget. A word's worth is its heat (how often and how lately it was written), increased near the current
 * talk, a model of human memory that docs/decisions/0006 describes.
 */
import { isTerm } from "../words.ts";
import { heatOf, type WordRow, type Words } from "./table.ts";

/** A word with its worth for later messages. */
interface Worth {
  readonly word: string;
  readonly worth: number;
}

/**
 * The weight of each word in the visible messages: 1 for a word just written, less for an older one or one that was
 * only read.
 */
export type Talk = ReadonlyMap<string, number>;

/** The weight factor from one visible message to the next older one. */
const TALK_FADES_TO = 0.9;
/** The weight of a word that was only read in a visible message, relative to a written one. */
const TALK_READ_SHARE = 0.4;
/** Weights that were chosen on real conversations, leaving each source out in turn (`bench/ruler/settings.ts`). */
export interface Weights {
  /** The part of heat that does not fade, for each logarithm of the places that say a word. */
  readonly lasting: number;
  /** The power of heat in a word's worth. Above 1, a warm word outweighs several lukewarm ones that are shorter. */
  readonly power: number;
  /** The power that keeps nearness to the talk from outweighing heat. */
  readonly spread: number;
  /** The largest bonus for a name whose parts all occur in the talk. */
  readonly name: number;
  /**
   * The worth of a word of plain letters that only tools said, relative to an identifier that only tools said, which is
   * written soon far more often.
   */
  readonly word: number;
  /** The same for an address, a compound of plain words or a number that is no id. Numbers include times, dates and ranges. */
  readonly plain: number;
  /**
   * Names that differ in their digits alone, such as `e101` to `e308`, are a series. The worth of each is divided by
   * this power of their number, because few of a long series are needed again.
   */
  readonly series: number;
  /** Extra characters for each name, because even the shortest takes a token. */
  readonly each: number;
}

export const WEIGHTS: Weights = {
  lasting: 0.5,
  power: 1.6,
  spread: 0.1,
  name: 1,
  word: 0.7,
  plain: 0.4,
  series: 0.2,
  each: 2.3,
};

/** The least nearness of a place that is far from the talk. */
const SPREAD_LEAST = 0.1;
const PLAIN_WORD = /^\p{Lu}?\p{Ll}+$/u;
/** A run of seven digits or more is an id. */
const PLAIN = /^\p{L}+(?:[-/]\p{L}+)+$|^(?!\d{7,}$)[\d.,:+-]+$|:\/\//u;
/**
 * A term of a script without blanks needs so many mentions, because a rarer one is prose. Its worth is reduced, because
 * it takes about a token per character.
 */
const TERM_COUNT = 4;
const TERM_SHARE = 0.5;
/** Characters of a Latin name that cost as much as one character of such a script. */
const WIDE = 3.5;
/** The most names compared with each other, far more than any budget holds. */
const MAX_CHOICE = 3_000;

export const NO_TALK: Talk = new Map();

/** The talk of the visible messages, from the table of each, the newest last. */
export function talkOf(tables: readonly Words[]): Talk {
  const talk = new Map<string, number>();
  for (const [age, { rows }] of tables.toReversed().entries()) {
    for (const [word, written] of rows) {
      const share = (written > 0 ? 1 : TALK_READ_SHARE) * TALK_FADES_TO ** age;
      talk.set(word, Math.max(share, talk.get(word) ?? 0));
    }
  }
  return talk;
}

export interface NamesBudget {
  /** Characters, including the blank after each word. */
  readonly characters: number;
  readonly talk: Talk;
  /** True for a word that the reader sees anyway. */
  readonly isShown: (word: string) => boolean;
  /** Default: {@link WEIGHTS}. */
  readonly weights?: Weights | undefined;
}

/** The chosen words, in the order in which they were last said, so that words of one place stand together. */
export function chooseWords(words: Words, { characters, talk, isShown, weights = WEIGHTS }: NamesBudget): string[] {
  const worths = weighWords(words, talk, weights).filter(({ word }) => !isShown(word));
  const densityOf = ({ word, worth }: Worth): number => worth / (widthOf(word) + weights.each);
  const best = worths.toSorted((a, b) => densityOf(b) - densityOf(a)).slice(0, MAX_CHOICE);
  const chosen = new Set(fill(best, characters, weights.each));
  const rows = words.rows.filter(([word]) => chosen.has(word));
  return rows.toSorted((one, other) => lastPlaceOf(one) - lastPlaceOf(other)).map(([word]) => word);
}

function lastPlaceOf([, , , , ...places]: WordRow): number {
  return places.at(-1) ?? 0;
}

/** False for a word of a script without blanks that is too rare to be distinguished from prose. */
function isName([word, , , count]: WordRow): boolean {
  return !isTerm(word) || count >= TERM_COUNT;
}

/** The worth of each word, regardless of its length. */
function weighWords(words: Words, talk: Talk, weights: Weights): Worth[] {
  const { rows } = words;
  const rarity = (count: number): number => Math.log((words.places + 2) / (count + 1)) + 0.1;
  const near = new Float64Array(words.places);
  const lit = new Float64Array(words.places);
  const all = new Float64Array(words.places);
  const many = new Float64Array(words.places);
  for (const [word, written, , count, ...places] of rows) {
    const rare = rarity(count);
    const talked = talk.get(word) ?? 0;
    for (const place of places) {
      near[place] = (near[place] ?? 0) + talked * rare;
      lit[place] = (lit[place] ?? 0) + lightOf(talked, written) * rare;
      all[place] = (all[place] ?? 0) + rare;
      many[place] = (many[place] ?? 0) + 1;
    }
  }
  const name = nameTalk(rows, talk);
  const lengthOf = measureSeries(rows);
  return rows.flatMap((row) => {
    if (!isName(row)) return [];
    const [word, written, , count, ...places] = row;
    const rare = rarity(count);
    const own = lightOf(talk.get(word) ?? 0, written) * rare;
    let [spread, company] = [0, 0];
    for (const place of places) {
      spread += (near[place] ?? 0) / Math.sqrt((many[place] ?? 0) + 4);
      company += ((lit[place] ?? 0) - own) / ((all[place] ?? 0) - rare + 3);
    }
    spread = (spread / Math.sqrt(places.length || 1) + SPREAD_LEAST) ** weights.spread;
    company /= places.length || 1;
    const heat = heatOf(row) + weights.lasting * Math.log1p(count);
    const worth = heat ** weights.power * spread * (1 + company) * (1 + weights.name * name(word));
    const share = (isTerm(word) ? TERM_SHARE : 1) * (written === 0 ? shareOfForm(word, weights) : 1);
    return [{ word, worth: (worth * share) / lengthOf(word) ** weights.series }];
  });
}

/** The worth of a word that only tools said, by its form. */
function shareOfForm(word: string, weights: Weights): number {
  if (PLAIN_WORD.test(word)) return weights.word;
  return PLAIN.test(word) ? weights.plain : 1;
}

/** The number of words in a word's series. 1 for a word without digits. */
function measureSeries(rows: readonly WordRow[]): (word: string) => number {
  const series = Map.groupBy(rows, ([word]) => seriesOf(word));
  return (word) => series.get(seriesOf(word))?.length ?? 1;
}

function seriesOf(word: string): string {
  return word.replaceAll(DIGITS, "0");
}

const DIGITS = /\d+/g;

/** How much a word activates its place: by being in the current talk, or by its own heat of writing. */
function lightOf(talked: number, written: number): number {
  return Math.max(talked, 1 - Math.exp(-written));
}

/**
 * The share of a name's parts that occur in the talk, rarer parts weighted higher, as in `showTheme` beside
 * `ThemeSelector`.
 */
function nameTalk(rows: readonly WordRow[], talk: Talk): (word: string) => number {
  const shares = new Map<string, number>();
  for (const [word, share] of talk)
    for (const part of partsOf(word)) shares.set(part, Math.max(share, shares.get(part) ?? 0));
  const parts = new Map(rows.map(([word]) => [word, partsOf(word)]));
  const counts = new Map<string, number>();
  for (const own of parts.values()) for (const part of new Set(own)) counts.set(part, (counts.get(part) ?? 0) + 1);
  return (word) => {
    let [held, sum] = [0, 0];
    for (const part of parts.get(word) ?? []) {
      const rare = Math.log((rows.length + 1) / ((counts.get(part) ?? 0) + 1));
      sum += rare;
      held += rare * (shares.get(part) ?? 0);
    }
    return sum <= 0 ? 0 : held / sum;
  };
}

const PARTS = /[^\p{L}\p{N}]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

function partsOf(word: string): string[] {
  return word.split(PARTS).flatMap((part) => (part.length > 2 ? [part.toLowerCase()] : []));
}

/** The width of a word with the blank after it, in characters weighted by their token cost. */
export function widthOf(word: string): number {
  let width = 1;
  for (const character of word) width += character > "\u2e7f" ? WIDE : 1;
  return width;
}

/** Letters of the index key for finding words inside others. */
const KEY_LETTERS = 3;

/**
 * Fills the budget by worth per character. Each word costs `each` characters more, but the budget itself counts only what is
 * shown. A longer word also says the words inside it. So it counts their worth too, and replaces them where they were
 * already chosen.
 */
function fill(choice: readonly Worth[], characters: number, each: number): string[] {
  const { inside, around } = findInside(choice.map(({ word }) => word));
  const widths = choice.map(({ word }) => widthOf(word));
  const chosen = new Set<number>();
  const standing = new Set<number>();
  const gain = (at: number): number =>
    (inside[at] ?? []).reduce((sum, part) => sum + (chosen.has(part) ? 0 : worthAt(part)), worthAt(at));
  const worthAt = (at: number): number => choice[at]?.worth ?? 0;
  const cost = (at: number): number =>
    (inside[at] ?? []).reduce((sum, part) => sum - (standing.has(part) ? (widths[part] ?? 0) : 0), widths[at] ?? 0);
  const density = (at: number): number => gain(at) / (Math.max(1, cost(at)) + each);
  const queue = choice.map((_, at): Ranked => ({ at, rank: density(at) })).toSorted(compare);
  let budget = characters;
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { at, rank } = next;
    if (chosen.has(at)) continue;
    const now = density(at);
    // Some words inside it were said since, so it goes back into the queue with its lower density.
    if (now < rank) {
      insert(queue, { at, rank: now });
      continue;
    }
    if (cost(at) > budget) continue;
    budget -= cost(at);
    for (const part of inside[at] ?? []) {
      standing.delete(part);
      chosen.add(part);
    }
    standing.add(at);
    chosen.add(at);
    for (const longer of around[at] ?? [])
      if (!chosen.has(longer)) insert(queue, { at: longer, rank: density(longer) });
  }
  return [...standing].map((at) => choice[at]?.word ?? "");
}

/** For each word, the other words that it contains, and the words that contain it. */
function findInside(words: readonly string[]): { inside: readonly number[][]; around: readonly number[][] } {
  const byKey = Map.groupBy(words.keys(), (at) => (words[at] ?? "").slice(0, KEY_LETTERS));
  const inside = words.map((word, at) => {
    const held = new Set<number>();
    for (let from = 0; from + KEY_LETTERS <= word.length; from++) {
      for (const other of byKey.get(word.slice(from, from + KEY_LETTERS)) ?? []) {
        const shorter = words[other] ?? "";
        if (other !== at && shorter.length < word.length && word.startsWith(shorter, from)) held.add(other);
      }
    }
    return [...held];
  });
  const around = words.map((): number[] => []);
  for (const [at, held] of inside.entries()) for (const each of held) around[each]?.push(at);
  return { inside, around };
}

/** A word that waits, with its density when it was last looked at. */
interface Ranked {
  readonly at: number;
  readonly rank: number;
}

/** The last one is the densest. Of equals it is the one with the lowest index. */
function compare(one: Ranked, other: Ranked): number {
  return one.rank - other.rank || other.at - one.at;
}

/** From the end, because a word whose density changed is mostly still among the densest. */
function insert(queue: Ranked[], word: Ranked): void {
  queue.splice(queue.findLastIndex((each) => compare(each, word) < 0) + 1, 0, word);
}
