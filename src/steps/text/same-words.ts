/**
 * Compares lines by their meaningful words, to find a reworded repetition.
 *
 * Texts in, sets of words out, with one pass over the words.
 */

const STOP_WORDS = new Set(
  `a about after all also am an and any are as at be because been before being but by can could did do does doing done
  for from get gets go going got had has have he her here him his how i if in into is it its just let like make me more
  most my no not now of off on one only or other our out over please really same she should so some such than that the
  their them then there these they thing things this those to too up us use very want was we well were what when where
  which while who why will with would you your yes ok okay thanks thank`.split(/\s+/),
);

/** The meaningful words of `text` in lower case, each once. */
export function meaningfulWords(text: string): Set<string> {
  const words = new Set<string>();
  for (const run of text.toLowerCase().split(NOT_OF_A_WORD)) {
    if (run.length > LONGEST_WORD) continue;
    const word = run.replace(/^[./@-]+|[./@-]+$/g, "");
    if (word.length > 1 && !STOP_WORDS.has(word)) words.add(word);
  }
  return words;
}

const NOT_OF_A_WORD = /[^\p{L}\p{N}_$./@-]+/u;
/** In characters. Longer runs are data. */
const LONGEST_WORD = 80;

/** True when nearly all words of the shorter one are in the other. */
export function saysTheSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const [small, large] = one.size <= other.size ? [one, other] : [other, one];
  if (small.size === 0) return true;
  if (small.size < 3 && small.size !== large.size) return false;
  let shared = 0;
  for (const word of small) if (large.has(word)) shared++;
  return shared / small.size >= 0.85 && shared / large.size >= 0.4;
}
