/**
 * Extracts the words of a text that name something, from prose, code, JSON, a shell, a diff or a table.
 *
 * Text in, slices of it out, in order and with repetitions. It knows no kinds of names. The importance of a name shows
 * in who writes it how often, not in its form. Its time is linear in the text.
 */
import { isOrdinary } from "./ordinary.ts";

/** A word, separated by blanks, quotes, brackets and commas. A path, a member call, an address or a flag is one word. */
const WORD = /[\p{L}\p{M}\p{N}_@#$~./:+-]+/gu;
const WINDOWS_PATH = /\b[A-Za-z]:\\[^\s"'`<>|?*,;()]+/g;
/** Characters that a word neither begins nor ends with. */
const BEFORE = new Set("./:+~-");
const BEHIND = new Set("./:+~-@#$");
/** Escapes, as in JSON inside JSON. */
const ESCAPED_BREAKS = /\\[nr]/g;
const ESCAPES = /\\[t"]/g;
/** A shorter word is more often chance than a name, and a longer one is data. */
const LEAST_LETTERS = 4;
const MOST_LETTERS = 120;
/** A plain number of fewer digits is a count or a year in passing. */
const SHORT_NUMBER = /^\d{1,4}$/;
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
/** Loan words in Japanese. */
const LOAN = /\p{Script=Katakana}[\p{Script=Katakana}ー]{3,}/gu;
const CHARACTERS = /\p{Script=Han}{2,12}/gu;
const KANA = /\p{Script=Hiragana}/u;
/** Function words of Chinese, which are part of few names. */
const GLUE =
  /[的了是在和与及或也就都而着过把被让给对从到为以因但如若则其之此该这那我你他她它们个些很更最不没无有会能可要请将并且还又再才只已等中上下后前时]/u;
/** Characters of a term that is not quoted. A shorter one is nearly always a common word of Chinese or Japanese. */
const SHORTEST_TERM = 3;
const LONGEST_TERM = 8;

/** Every naming word of the text. */
export function wordsIn(text: string): string[] {
  const found: string[] = [];
  const plain = text.replaceAll(ESCAPED_BREAKS, "\n").replaceAll(ESCAPES, " ").replaceAll(CONTRACTIONS, " ");
  if (plain.includes(":\\"))
    found.push(...(plain.match(WINDOWS_PATH) ?? []).filter((path) => path.length <= MOST_LETTERS));
  const spaced = plain.replaceAll(UNSPACED_RUN, " ");
  for (const each of spaced.match(WORD) ?? []) {
    const word = trim(each);
    if (word.length < LEAST_LETTERS || word.length > MOST_LETTERS) continue;
    if (!SHORT_NUMBER.test(word) && !isOrdinary(word)) found.push(word);
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
  for (const [run] of text.matchAll(UNSPACED_RUN)) {
    terms.push(...(run.match(LOAN) ?? []));
    for (const piece of run.match(CHARACTERS) ?? []) {
      const parts = KANA.test(run) ? [piece] : piece.split(GLUE);
      terms.push(...parts.filter(({ length }) => length >= SHORTEST_TERM && length <= LONGEST_TERM));
    }
  }
  return terms;
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
