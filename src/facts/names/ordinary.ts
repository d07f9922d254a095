/**
 * Tells an ordinary word of a language from one that names something.
 *
 * One word in, yes or no out. An error is harmless either way. A name taken for an ordinary word is left to the
 * summary's sentences and to recall. A rare word taken for a name costs the tokens of one name.
 */
import { ORDINARY_DIGITS } from "./ordinary-words.ts";

/** The digits of the filter run from 0 to 46. Their number is a prime, so that the equations can be solved. */
const DIGITS = 47;
/** Six characters are a number in this base, which holds seven digits. */
const BASE = 90;
const SLOTS = 13_064;
const FILTER = unpack(ORDINARY_DIGITS);
/** Digits in one equation. */
const WIDTH = 64;
/** The first hash under which all equations have a solution. */
const SEED = 9;

/** Letters, with the marks that stand inside a word. */
const WORD = /^[\p{L}\p{M}'’-]+$/u;
const INNER_CAPITAL = /\p{Ll}\p{Lu}/u;
/** Endings that any English word may have. The list holds stems without them. */
const ENDINGS = ["ing", "ed", "es", "s"];
/** A word with a common prefix, ending, or both, around at least four letters. */
const DERIVED = /^(?:inter|over|mis|in|re|un)?(\p{L}{4,}?)(?:ation|ness?|ly)?$/u;
/** Size of the cache of results, enough for the words of a long conversation. */
const MAX_REMEMBERED = 20_000;
/** A shorter word counts as ordinary. In a compound, such as `Wi-Fi`, it counts as any other part. */
const MIN_LETTERS = 3;
/** The counts of books read it as two words, so the list does not have it. */
const CANNOT = "cannot";

const known = new Map<string, boolean>();

/** True for an ordinary word, and for a compound of such words. */
export function isOrdinary(word: string): boolean {
  let ordinary = known.get(word);
  if (ordinary === undefined) {
    if (known.size >= MAX_REMEMBERED) known.clear();
    ordinary = tellOrdinary(word);
    known.set(word, ordinary);
  }
  return ordinary;
}

function tellOrdinary(word: string): boolean {
  if (!WORD.test(word) || INNER_CAPITAL.test(word)) return false;
  const parts = word.toLowerCase().split("-");
  return parts.every(
    (part) =>
      part === CANNOT || (parts.length === 1 && part.length < MIN_LETTERS) || isListed(stem(part)) || isDerived(part),
  );
}

/** True for a word that English makes of an ordinary one, such as "rechecked" and "tentatively". */
function isDerived(word: string): boolean {
  const inner = stem(word);
  const [, base = ""] = DERIVED.exec(inner) ?? [];
  return base !== "" && base !== inner && isListed(stem(base));
}

function stem(word: string): string {
  const ending = ENDINGS.find((each) => word.endsWith(each) && word.length - each.length >= MIN_LETTERS) ?? "";
  return word.slice(0, word.length - ending.length).replace(/e$/, "");
}

/**
 * The filter's equation for a stem: the sum of {@link WIDTH} neighbouring digits, each times a factor drawn from the stem's hash, leaves 1
 * when it is divided by {@link DIGITS}. For any other word that is chance.
 */
function isListed(word: string): boolean {
  const first = hash(word, SEED) % (FILTER.length - WIDTH + 1);
  let factor = hash(word, SEED ^ 0x9e3779b9);
  let sum = 0;
  for (let place = first; place < first + WIDTH; place++) {
    factor = (Math.imul(factor, 1_664_525) + 1_013_904_223) | 0;
    sum += ((factor >>> 16) % DIGITS) * (FILTER[place] ?? 0);
  }
  return sum % DIGITS === 1;
}

/** The character `#` is 0. The backslash is left out. */
function unpack(packed: string): Uint8Array {
  const digits = new Uint8Array((packed.length / 6) * 7);
  for (let group = 0; group * 6 < packed.length; group++) {
    let number = 0;
    for (let place = group * 6 + 5; place >= group * 6; place--) {
      const code = packed.charCodeAt(place);
      number = number * BASE + code - (code > 92 ? 36 : 35);
    }
    for (let place = group * 7; place < group * 7 + 7; place++) {
      digits[place] = number % DIGITS;
      number = Math.floor(number / DIGITS);
    }
  }
  return digits.subarray(0, SLOTS);
}

/** FNV-1a over UTF-8 with a finalizer, so that short words spread over all places. */
function hash(word: string, seed: number): number {
  let value = 2_166_136_261 ^ seed;
  for (const byte of UTF8.encode(word)) value = Math.imul(value ^ byte, 16_777_619);
  value = Math.imul(value ^ (value >>> 15), 2_246_822_507);
  return (value ^ (value >>> 13)) >>> 0;
}

const UTF8 = new TextEncoder();
