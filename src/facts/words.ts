/**
 * Extracts the words of a text that name something, from prose, code, JSON, a shell, a diff or a table.
 *
 * Text in, slices of it out, in order and with repetitions. It knows no kinds of names. The importance of a name shows
 * in who writes it how often, not in its form. Its time is linear in the text.
 */
import { isOrdinary } from "./names/ordinary.ts";

/** A word, separated by blanks, quotes, brackets and commas. A path, a member call, an address or a flag is one word. */
const WORD = /[\p{L}\p{M}\p{N}_@#$~./:+-]+/gu;
const WINDOWS_PATH = /\b[A-Za-z]:\\[^\s"'`<>|?*,;()]+/g;
/** Characters that a word neither begins nor ends with. */
const BEFORE = new Set("./:+~-");
const BEHIND = new Set("./:+~-@#$");
/** Escapes, as in JSON inside JSON, and in an address. */
const ESCAPED_BREAKS = /\\[nr]/g;
const ESCAPES = /\\(?:[t"]|u[\da-f]{4})|%[\dA-F]{2}/g;
/** A shorter word is more often chance than a name, and a longer one is data. */
const LEAST_LETTERS = 4;
/** Most names of Korean have three syllables. */
const LEAST_SYLLABLES = 3;
const KOREAN = /^\p{Script=Hangul}+$/u;
const MOST_LETTERS = 120;
/** A plain number of fewer digits is a count or a year in passing. */
const SHORT_NUMBER = /^\d{1,4}$/;
/** Korean writes a particle at the end of a noun. Three syllables are left of it, because a shorter name may end like one. */
const PARTICLE = /^(\p{Script=Hangul}{3,}?)(?:에서|에게|한테|으로|까지|부터|[은는이가을를의에도와과로만])$/u;
/** Removes contractions, so that "doesn't" is read as "does", and "Anna's" as "Anna". */
const CONTRACTIONS = /(?<=\p{L})(?:n['’]t|['’](?:s|ll|ve|re|d|m))(?!\p{L})/giu;

/** Scripts that are written without blanks. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}`;
const UNSPACED_RUN = new RegExp(String.raw`[${UNSPACED}ー\u3000-\u303f\uff00-\uffef]+`, "gu");
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, "u");
/** A term in quotation marks, and one in backticks. */
const QUOTED = /[「『《“‘【]([^「」『』《》“”‘’`【】\n]{2,24})[」』》”’】]/gu;
const BACKTICKS = /`+/;
const LONGEST_QUOTED = 24;
/** Loan words in Japanese that are joined of several. A shorter one is nearly always a common word. */
const LOAN = /[\p{Script=Katakana}ー]{9,}/gu;
const CHARACTERS = /\p{Script=Han}+/gu;
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const HIRAGANA = /\p{Script=Hiragana}/u;
/** What follows a noun of Japanese. Behind characters, any other kana is the ending of their verb. */
const BEHIND_NOUN = /[のはがをにでともやへかなしさすだまよ]/u;
/** Endings that tell when, where or of what kind, as in "on failure". */
const KIND_ENDING = /[的時後前中内外向用別等]$/u;
/** Function words of Chinese, which are part of few names. */
const GLUE =
  /(关于|有关|如果|通过|以及|一个|一些|一种|的|了|是|在|和|与|及|或|也|就|都|而|被|让|给|到|但|若|则|其|之|此|该|这|那|我|你|他|她|它|们|个|些|很|更|最|不|没|并|且|还|又|再|才|只|已|等)|([把过着从为以因对如无有会能可要请将中上下后前时])/u;
/** Of three strings of a split at {@link GLUE}, one is a piece, and the others are what stands behind it. */
const SPLIT_INTO = 3;
/** Characters of a term that is not quoted. A shorter one is nearly always a common word of Chinese or Japanese. */
const SHORTEST_TERM = 3;
const SHORTEST_IN_JAPANESE = 4;
const LONGEST_TERM = 8;

/** Every naming word of the text. */
export function wordsIn(text: string): string[] {
  const found: string[] = [];
  const plain = text.replaceAll(ESCAPED_BREAKS, "\n").replaceAll(ESCAPES, " ").replaceAll(CONTRACTIONS, " ");
  if (plain.includes(":\\"))
    found.push(...(plain.match(WINDOWS_PATH) ?? []).filter((path) => path.length <= MOST_LETTERS));
  const spaced = plain.replaceAll(UNSPACED_RUN, " ");
  for (const each of spaced.match(WORD) ?? []) {
    const bare = trim(each);
    const isKorean = KOREAN.test(bare);
    const word = isKorean ? bare.replace(PARTICLE, "$1") : bare;
    if (word.length < (isKorean ? LEAST_SYLLABLES : LEAST_LETTERS) || word.length > MOST_LETTERS) continue;
    if (!isOrdinary(word) && !SHORT_NUMBER.test(word)) found.push(word);
  }
  if (spaced !== plain) found.push(...termsIn(plain));
  return found;
}

/** Trims character by character, because a pattern would backtrack over a rule of a million dashes once for each. */
function trim(run: string): string {
  let [from, to] = [0, run.length];
  while (from < to && BEFORE.has(run.charAt(from))) from++;
  while (to > from && BEHIND.has(run.charAt(to - 1))) to--;
  return run.slice(from, to);
}

/** True for a word of a script without blanks. Only repetition tells whether such a word is a name. */
export function isTerm(word: string): boolean {
  return HAS_UNSPACED.test(word);
}

/** Terms in scripts without blanks: quoted terms, loan words, and pieces between function words. */
function termsIn(text: string): string[] {
  const terms = [...text.matchAll(QUOTED)].flatMap(([, term = ""]) => (HAS_UNSPACED.test(term) ? [term.trim()] : []));
  for (const line of text.split("\n")) terms.push(...codeSpansIn(line));
  const pieces = KANA.test(text) ? japaneseIn(text) : chineseIn(text);
  return [...terms, ...pieces.filter(({ length }) => length <= LONGEST_TERM), ...(text.match(LOAN) ?? [])];
}

/** Pieces of Chinese characters, without the verbs among them and what only tells when, where or how. */
function japaneseIn(text: string): string[] {
  return [...text.matchAll(CHARACTERS)].flatMap(({ 0: piece, index }) => {
    const behind = text.charAt(index + piece.length);
    const isNoun = !HIRAGANA.test(behind) || BEHIND_NOUN.test(behind);
    return isNoun && piece.length >= SHORTEST_IN_JAPANESE && !KIND_ENDING.test(piece) ? [piece] : [];
  });
}

/** Pieces between function words. Some of those are parts of words as well, so a piece beside them may be cut from one. */
function chineseIn(text: string): string[] {
  return [...text.matchAll(CHARACTERS)].flatMap(([run]) => {
    const split = run.split(GLUE);
    return split.filter((piece, at) => {
      if (at % SPLIT_INTO !== 0 || piece.length < SHORTEST_TERM) return false;
      return split[at - 1] === undefined && split[at + 2] === undefined;
    });
  });
}

/**
 * The terms between backticks of one line. An odd number of backticks does not tell which of them open a span, for
 * instance in a line that was cut, so such a line has none.
 */
function codeSpansIn(line: string): string[] {
  const pieces = line.split(BACKTICKS);
  if (pieces.length % 2 === 0) return [];
  return pieces.filter(
    (piece, at) =>
      at % 2 === 1 &&
      piece.length >= 2 &&
      piece.length <= LONGEST_QUOTED &&
      piece === piece.trim() &&
      HAS_UNSPACED.test(piece),
  );
}

/** Returns a test whether one of the words is or contains a given word, as a path contains the name of its file. */
export function containsWord(words: Iterable<string>): (word: string) => boolean {
  const known = new Set(words);
  const joined = [...known].join("\n");
  return (word) => known.has(word) || joined.includes(word);
}
