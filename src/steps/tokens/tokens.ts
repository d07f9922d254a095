/**
 * A fast estimate of the tokens of a text, used when no provider has counted them.
 *
 * One pass over the characters, without the table of a real tokenizer, which takes tens of megabytes of a Durable
 * Object's memory. Letters are counted by the pieces that tokenizers tend to make (words, the humps of camelCase), and
 * all else by class. The weights were fitted on a real coding session of 484 model calls, against the provider's own
 * count of the growth at each call. The estimate is 1.00 of the truth over the session (prose 0.96, tool calls 1.08,
 * tool outputs 0.93), where characters / 4 gives 0.76. English comes out at 4.2 to 4.5 characters per token, Japanese
 * at 0.9.
 */

/** Tokens of a word or hump, and the surcharge for each letter beyond those that one token usually holds. */
const WORD = 1;
const LETTERS_IN_WORD = 4;
const MORE_LETTERS = 0.2;
const DIGIT = 1.1;
const PUNCTUATION = 0.45;
/** A repeated character, as in a rule of dashes or a run of dots. Tokenizers have long tokens for them. */
const REPEATED_PUNCTUATION = 0.12;
/** A line break with its following blank lines, and an indentation or another run of two or more blanks. */
const LINE_BREAK = 1.5;
const INDENTATION = 0.6;
/** Each further blank in a run. */
const MORE_BLANKS = 0.02;
/** Alphabets beyond ASCII have few tokens of their own. Scripts and signs beyond U+2000 have hardly any. */
const ALPHABET = 0.5;
const SIGN = 1.1;

const LINE = 1;
const BLANK = 2;
const NUMBER = 3;
const LOWER = 4;
const UPPER = 5;
const MARK = 6;
const BEYOND = 7;

const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === 10 || code === 13) return LINE;
  if (code <= 32) return BLANK;
  if (code >= 48 && code <= 57) return NUMBER;
  if (code >= 97 && code <= 122) return LOWER;
  return code >= 65 && code <= 90 ? UPPER : MARK;
});

/** Estimated tokens of `text` as a whole number. 0 only for the empty text. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let previous = 0;
  /** The number of characters so far in the current word or run of one class. */
  let run = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const kind = CLASSES[code] ?? BEYOND;
    const goesOn = kind === previous || (kind === LOWER && previous === UPPER && run === 1);
    run = goesOn ? run + 1 : 1;
    if (kind === MARK) tokens += goesOn && text.charCodeAt(at - 1) === code ? REPEATED_PUNCTUATION : PUNCTUATION;
    else if (kind === BEYOND) tokens += code < 0x2000 ? ALPHABET : SIGN;
    else tokens += plainCost(kind, run);
    previous = kind;
  }
  return text === "" ? 0 : Math.max(1, Math.round(tokens));
}

/** The tokens that the `run`-th character of a word, a number or a run of blanks adds. */
function plainCost(kind: number, run: number): number {
  if (kind === NUMBER) return DIGIT;
  if (kind === LINE) return run === 1 ? LINE_BREAK : MORE_BLANKS;
  if (kind === BLANK) return run === 2 ? INDENTATION : run > 2 ? MORE_BLANKS : 0;
  return run === 1 ? WORD : run > LETTERS_IN_WORD ? MORE_LETTERS : 0;
}
