/**
 * Text that somebody else wrote, made harmless to look at.
 *
 * Boundary: text to text. Safe because what has no shape of its own is shown by name: control characters, and the marks
 * that turn the direction of writing, with which a text can look like another one.
 */

/** Characters of one text that are laid out as markdown, and shown at first: beyond, reading needs a file. */
export const MARKDOWN_CHARS = 20_000;
export const SHOWN_CHARS = 40_000;
/** Openings of one construct side by side beyond which a text is not markdown that a person wrote. */
const NESTED = 40;

/** C0 and C1 controls but tab and line ends, and the marks of direction. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function showUnseen(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(UNSEEN, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

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
