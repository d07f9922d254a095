/**
 * The ruler, which finds the rare words of a text. It knows nothing of how names are chosen, and never takes part in choosing them.
 *
 * A word is rare when it is in no dictionary, or carries a digit, an underscore, an inner capital, a dot or a slash. In scripts other than
 * Latin it judges only such names. The dictionary is the machine's own (`/usr/share/dict/words`).
 */
import { existsSync, readFileSync } from "node:fs";

const DICTIONARY = "/usr/share/dict/words";
const LEAST_LETTERS = 4;
const MOST_LETTERS = 120;
const LEAST_DIGITS = 5;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\u3000-\u303f\uff00-\uffef]+/gu;
const RUN = /[\w@#$~./:+-]*\w/g;
const ASCII = /^[!-~]+$/;
const EDGE = /^[./:+~-]+|[./:+~-]+$/g;

/** What a case says it did not measure on a machine without a dictionary. */
export const NO_RULER = `anything: the ruler needs a word list at ${DICTIONARY}`;

export type RareWords = (text: string) => ReadonlySet<string>;

/** Null on a machine without a dictionary. */
export function readRuler(): RareWords | null {
  if (!existsSync(DICTIONARY)) return null;
  const words = new Set(readFileSync(DICTIONARY, "utf8").toLowerCase().split("\n"));
  const isKnown = (word: string): boolean => {
    const lower = word.toLowerCase();
    const stems = [lower, lower.replace(/s$/, ""), lower.replace(/ed$/, ""), lower.replace(/d$/, "")];
    stems.push(lower.replace(/ing$/, ""), lower.replace(/ing$/, "e"));
    if (stems.some((stem) => words.has(stem))) return true;
    return /^[a-z]+(?:-[a-z]+)+$/.test(lower) && lower.split("-").every((part) => words.has(part));
  };
  return (text) => {
    const found = new Set<string>();
    for (const [run] of text.replaceAll(UNSPACED, " ").matchAll(RUN)) {
      const word = run.replaceAll(EDGE, "");
      if (!ASCII.test(word)) continue;
      if (word.length < LEAST_LETTERS || word.length > MOST_LETTERS) continue;
      if (/^\d+$/.test(word) && word.length < LEAST_DIGITS) continue;
      if (!found.has(word) && !isKnown(word)) found.add(word);
    }
    return found;
  };
}
