/**
 * A fast estimate of how many tokens a text costs, for when no provider has said.
 *
 * One pass over the characters, no table of a real tokenizer: those take tens of megabytes of a Durable Object's
 * memory. Letters are counted by the pieces that tokenizers tend to make (words, the humps of camelCase), the rest by
 * class. The weights were fitted on a real coding session of 484 model calls, against the provider's own count of
 * what each call added: 1.00 of the truth over the session, where characters / 4 reads 0.76 (its prose 0.96, tool
 * calls 1.08, tool outputs 0.93). English comes out at 4.2 to 4.5 characters per token, Japanese at 0.9.
 */

/** Tokens of a word or hump: this much, and more for each letter beyond what one token usually holds. */
const WORD = 1;
const LETTERS_IN_WORD = 4;
const MORE_LETTERS = 0.2;
const DIGIT = 1.1;
const PUNCTUATION = 0.45;
/** A rule of dashes, a run of dots: long tokens exist for them. */
const REPEATED_PUNCTUATION = 0.12;
/** A break with the blank lines that follow it; and an indentation, or any run of two blanks and more. */
const LINE_BREAK = 1.5;
const INDENTATION = 0.6;
/** Each further blank in a run. */
const MORE_BLANKS = 0.02;
/** Alphabets beyond ASCII have few tokens of their own; scripts and signs beyond U+2000 hardly any. */
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

/** Estimated tokens of `text`: a whole number, 0 for the empty text only. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let previous = 0;
  /** How many characters of the current word, or of one class, came in a row. */
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

/** What the `run`-th character of a word, a number or a run of blanks adds. */
function plainCost(kind: number, run: number): number {
  if (kind === NUMBER) return DIGIT;
  if (kind === LINE) return run === 1 ? LINE_BREAK : MORE_BLANKS;
  if (kind === BLANK) return run === 2 ? INDENTATION : run > 2 ? MORE_BLANKS : 0;
  return run === 1 ? WORD : run > LETTERS_IN_WORD ? MORE_LETTERS : 0;
}
