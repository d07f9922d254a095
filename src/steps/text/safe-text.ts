/** Texts of others made safe for a prompt: they close no tag of it and pose as no heading of ours. */
import { stripInvisible } from "./invisible-characters.ts";

/** All but a single blank, which stays. */
const BREAKS = /[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu;
const PROMPT_TAG =
  /<(?=\/|(?:sections|beginning|earlier-summary|previous-summary|draft|standing|transcript|following|kept|problem|focus)\b)/gi;

const LINE_ENDS = "\\n\\v\\f\\r\\u0085\\u2028\\u2029";
const BLANK = `[^\\S${LINE_ENDS}]`;
const STILL_IN_FORCE = `still${BLANK}+in${BLANK}+force`;

/** What may stand before a heading, in a quotation, a list or a table. */
const PLAIN = `(?:${BLANK}|[>+|-]|\\d{1,9}[.)])`;
/** What makes a heading or a bold line of a text, in Markdown or HTML. */
const MARK = "(?:[#*_`]|<[^<>]{1,200}>)";
/** A line that makes a heading of the line above. */
const UNDERLINE = `[${LINE_ENDS}]+${BLANK}*(?:-+|=+)${BLANK}*(?![^${LINE_ENDS}])`;
/** The start of a line that a reader could take for the heading of the facts in force. */
const IN_FORCE_LOOKALIKE = new RegExp(
  `(?<![^${LINE_ENDS}])(?=${PLAIN}*(?:${MARK}(?:${PLAIN}|${MARK})*${STILL_IN_FORCE}|${STILL_IN_FORCE}[^${LINE_ENDS}]*${UNDERLINE}))`,
  "gi",
);

/** Escapes headings that could pose as the heading of the facts in force, so that only pinned facts stand under it. */
export function withoutHeading(text: string): string {
  return text.replaceAll(IN_FORCE_LOOKALIKE, "\\");
}

const CLOSING_TAG =
  /<(?=\/(?:sections|beginning|earlier-summary|previous-summary|draft|standing|transcript|following|kept|problem|focus)\b)/gi;

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
