/** The marks of lines and words in markdown. */

/** A list mark in front of a line's own words. */
export const LIST_MARK = /^(?:[-*+•]|\d{1,3}[.)])\s+/;

const MARKUP = /[^\p{L}\p{N}/]+/gu;

/** The words of a text in any markup, with a blank between them. */
export function withoutMarkup(text: string): string {
  return text.replaceAll(MARKUP, " ").trim();
}
