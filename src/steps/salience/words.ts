/**
 * Reads the words out of a text that name something, wherever it came from: prose, code, JSON, a shell, a diff, a table.
 *
 * Boundary: text in, slices of it out, in order and as often as they stand there. No kinds: what a name is for is told by who
 * writes it how often, not by how it looks. Time is linear in the text, whatever it holds.
 */
import { isOrdinary } from "./ordinary.ts";

/** What blanks, quotes, brackets and commas part. A path, a call on an object, an address or a flag is one word. */
const WORD = /[\p{L}\p{M}\p{N}_@#$~./:+-]+/gu;
const WINDOWS_PATH = /\b[A-Za-z]:\\[^\s"'`<>|?*,;()]+/g;
/** What a word neither begins nor ends with. */
const BEFORE = new Set("./:+~-");
const BEHIND = new Set("./:+~-@#$");
/** A break that was written down twice, as a tool's JSON inside of JSON has it. */
const ESCAPES = /\\[ntr"]/g;
/** A shorter word is more often chance than a name; a longer one is data. */
const LEAST_LETTERS = 4;
const MOST_LETTERS = 120;
/** A plain number of fewer digits is a count or a year, said in passing. */
const SHORT_NUMBER = /^\d{1,4}$/;
/** "doesn't" is "does", and "Anna's" is "Anna". */
const CONTRACTIONS = /(?<=\p{L})(?:n['’]t|['’](?:s|ll|ve|re|d|m))(?!\p{L})/giu;

/** Scripts that are written without blanks. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}`;
const UNSPACED_RUN = new RegExp(String.raw`[${UNSPACED}ー\u3000-\u303f\uff00-\uffef]+`, "gu");
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, "u");
/** A term that its writer set apart. */
const QUOTED = /[「『《“‘`【]([^「」『』《》“”‘’`【】\n]{2,24})[」』》”’`】]/gu;
/** Words of other languages, as Japanese writes them. */
const LOAN = /\p{Script=Katakana}[\p{Script=Katakana}ー]{3,}/gu;
const CHARACTERS = /\p{Script=Han}{2,12}/gu;
const KANA = /\p{Script=Hiragana}/u;
/** What joins words in Chinese and is part of few names. */
const GLUE =
  /[的了是在和与及或也就都而着过把被让给对从到为以因但如若则其之此该这那我你他她它们个些很更最不没无有会能可要请将并且还又再才只已等中上下后前时]/u;
const LONGEST_TERM = 8;

/** Every naming word of the text. */
export function wordsIn(text: string): string[] {
  const found: string[] = [];
  const plain = text.replaceAll(ESCAPES, " ").replaceAll(CONTRACTIONS, " ");
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

/** Sign by sign: a pattern would go back over a rule of a million dashes once for each. */
function trim(run: string): string {
  let [from, to] = [0, run.length];
  while (from < to && BEFORE.has(run.charAt(from))) from++;
  while (to > from && BEHIND.has(run.charAt(to - 1))) to--;
  return run.slice(from, to);
}

/** True for a word of a script without blanks that nobody set apart: whether it is a name, only repetition tells. */
export function isTerm(word: string): boolean {
  return HAS_UNSPACED.test(word);
}

/** Of scripts without blanks: what is quoted, loan words, and pieces between what joins words. */
function termsIn(text: string): string[] {
  const terms = [...text.matchAll(QUOTED)].flatMap(([, term = ""]) => (HAS_UNSPACED.test(term) ? [term.trim()] : []));
  for (const [run] of text.matchAll(UNSPACED_RUN)) {
    terms.push(...(run.match(LOAN) ?? []));
    for (const piece of run.match(CHARACTERS) ?? []) {
      const parts = KANA.test(run) ? [piece] : piece.split(GLUE);
      terms.push(...parts.filter(({ length }) => length >= 2 && length <= LONGEST_TERM));
    }
  }
  return terms;
}
