/**
 * Text that somebody else wrote, made harmless to look at.
 *
 * Boundary: text to text. What has no shape of its own, and can make a text look like another one, is shown by name: which
 * that is, steps/text/invisible-characters.ts says for everybody who shows a text.
 */
export { showInvisible } from "../../src/steps/text/invisible-characters.ts";

/** Characters of one text that are laid out as markdown, and shown at first: beyond, reading needs a file. */
export const MARKDOWN_CHARS = 20_000;
export const SHOWN_CHARS = 40_000;
/** Openings of one construct side by side beyond which a text is not markdown that a person wrote. */
const NESTED = 40;

/** Whether a text may be laid out: not so long or so deeply nested that reading it would hold the page up. */
export function isLayable(text: string): boolean {
  if (text.length > MARKDOWN_CHARS) return false;
  if (/([[(*_~`!<])\1{40}/.test(text) || /(?:[!([*_~][ \t]?){80}/.test(text)) return false;
  return !text
    .split("\n")
    .some((line) => (/^[ \t>*+\-\d.)]*/.exec(line)?.[0].match(/[>*+\-.)]/g)?.length ?? 0) > NESTED);
}

/** The beginning of a long text, cut between characters, and how much more there is. */
export function clipText(text: string, chars = SHOWN_CHARS): { readonly shown: string; readonly left: number } {
  if (text.length <= chars) return { shown: text, left: 0 };
  const shown = text.slice(0, chars).toWellFormed();
  return { shown, left: text.length - shown.length };
}

/** The host that a link leads to; null for anything that is no web address: it is not made a link then. */
export function linkHost(href: string | undefined): string | null {
  if (href === undefined || !/^https?:\/\//i.test(href)) return null;
  try {
    return new URL(href).host;
  } catch {
    return null;
  }
}
