/**
 * Makes text from other authors safe to display.
 *
 * Characters without a shape of their own can make one text look like another, so they are shown by name.
 * steps/text/text.ts holds the list for all modules that display text.
 */
export { showInvisible } from "../../src/steps/text/text.ts";

/** Most characters of one text that are laid out as markdown, and that are shown at first. A longer text should be read in a file. */
export const MARKDOWN_CHARS = 20_000;
export const SHOWN_CHARS = 40_000;
/** Most adjacent openings of one construct. No person writes markdown beyond that. */
const NESTED = 40;

/** True for a text that may be laid out. A longer or more deeply nested text could block the page. */
export function isLayable(text: string): boolean {
  if (text.length > MARKDOWN_CHARS) return false;
  if (/([[(*_~`!<])\1{40}/.test(text) || /(?:[!([*_~][ \t]?){80}/.test(text)) return false;
  return !text
    .split("\n")
    .some((line) => (/^[ \t>*+\-\d.)]*/.exec(line)?.[0].match(/[>*+\-.)]/g)?.length ?? 0) > NESTED);
}

/** Returns the beginning of a long text, cut between characters, and the number of the characters left. */
export function clipText(text: string, chars = SHOWN_CHARS): { readonly shown: string; readonly left: number } {
  if (text.length <= chars) return { shown: text, left: 0 };
  const shown = text.slice(0, chars).toWellFormed();
  return { shown, left: text.length - shown.length };
}

/** Returns the host of a link, or null for anything but a web address. Such a link is shown as text. */
export function linkHost(href: string | undefined): string | null {
  if (href === undefined || !/^https?:\/\//i.test(href)) return null;
  try {
    return new URL(href).host;
  } catch {
    return null;
  }
}
