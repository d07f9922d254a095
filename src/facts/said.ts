/**
 * Tests whether a text contains a value word for word.
 *
 * A text in, a test out. Case and the width of blanks are ignored. A value must stand on its own or at the edge of a
 * longer name. So `src/a.ts` contains `a.ts`, and `data.ts` does not.
 */
import { stripInvisible } from "../steps/text/invisible-characters.ts";

/** The end of a text that a name continues, and the start of a text that continues a name. An underscore may be emphasis. */
const GOES_ON_FROM = /[\p{L}\p{N}]_?$/u;
const GOES_ON = /^_?[\p{L}\p{N}]/u;
const EDGE = /[\p{L}\p{N}_]/u;

/** Returns a test whether the text contains a value. */
export function sayingIn(text: string): (value: string) => boolean {
  const said = flatten(text);
  return (value) => {
    const wanted = flatten(value);
    if (wanted === "") return true;
    const opens = EDGE.test(wanted.charAt(0));
    const closes = EDGE.test(wanted.charAt(wanted.length - 1));
    for (let at = said.indexOf(wanted); at !== -1; at = said.indexOf(wanted, at + 1)) {
      const end = at + wanted.length;
      const within =
        (opens && GOES_ON_FROM.test(said.slice(Math.max(0, at - 2), at))) ||
        (closes && GOES_ON.test(said.slice(end, end + 2)));
      if (!within) return true;
    }
    return false;
  };
}

function flatten(text: string): string {
  return safeLine(text).toLowerCase();
}

/** All but a single blank, which stays. */
const BREAKS = /[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu;
const PROMPT_TAG = /<(?=\/|(?:sections|previous-summary|draft|transcript|problem|focus)\b)/gi;

/** The start of a line that a reader could take for the heading of the facts in force. */
const IN_FORCE_LOOKALIKE =
  /(?<![^\n\v\f\r\u0085\u2028\u2029])(?=[ \t]*(?:#{1,6}[ \t]*|[*_]{1,2})still[ \t]+in[ \t]+force)/gi;

/** Escapes headings that could pose as the heading of the facts in force, so that only pinned facts stand under it. */
export function withoutHeading(text: string): string {
  return text.replaceAll(IN_FORCE_LOOKALIKE, "\\");
}

const CLOSING_TAG = /<(?=\/(?:sections|previous-summary|draft|transcript|problem|focus)\b)/gi;

/** The text with its line breaks, without invisible characters and closing tags of a prompt. */
export function inLines(text: string): string {
  return stripInvisible(text).replaceAll(CLOSING_TAG, "‹");
}

/**
 * The text as one line that cannot close a tag of a prompt. Replaces breaks and such tags, and removes invisible
 * characters.
 */
export function safeLine(text: string): string {
  return stripInvisible(text.replaceAll(BREAKS, " ")).replaceAll(PROMPT_TAG, "‹").trim();
}
