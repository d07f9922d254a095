/** The title of a conversation, taken from its first words. */
import type { UIMessage } from "ai";
import { textsOf } from "./tool-parts.ts";

/** Characters of a session's title, which is one line of a list. */
const TITLE_CHARS = 60;

/** Characters read of a text, because a message may have millions. */
const READ_CHARS = 1_000;

/** Splits a text into characters as a reader sees them: a letter with its accents, a flag, an emoji of several people. */
const CHARACTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/** The message's text in one line of at most {@link TITLE_CHARS} characters, cut between words. Null when it has no text. */
export function titleOf(message: UIMessage): string | null {
  const text = textsOf(message.parts).join(" ");
  const start = text.trimStart().slice(0, READ_CHARS).toWellFormed();
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  if (line === "") return null;
  const characters = Array.from(CHARACTERS.segment(line), ({ segment }) => segment);
  if (characters.length <= TITLE_CHARS) return line;
  const kept = characters.slice(0, TITLE_CHARS).join("");
  const space = kept.lastIndexOf(" ");
  // One long word (an address, a script without spaces) is cut at the limit.
  const cut = space < kept.length / 2 ? characters.slice(0, TITLE_CHARS - 1).join("") : kept.slice(0, space);
  return `${cut}…`;
}
