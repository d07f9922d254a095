/**
 * Finds content that an answer would remove from the notes although nothing says it is over.
 *
 * The sections before and after an answer in, problems out. It compares words, not sentences. A model may condense a
 * section or move text to another one, but it may not replace a section by a text that knows nothing of it. A section
 * about the present is exempt, because it is superseded by nature. A section that is nearly full must be condensed. It
 * may lose words, but it must not be emptied.
 */
import { GUARDED_SECTION_WORDS, LEAST_NOTES_SHARE, MAX_FORGOTTEN_LINES, NOTES_CONDENSE_SHARE } from "../limits.ts";
import {
  type AuditProblem,
  tellsSomething,
  topicOf,
  oneLine,
  LAST_REPLY,
  wordTokens,
} from "../../steps/draft/audit.ts";
import { meaningfulWords } from "../../steps/text/text.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { dropReferences } from "../../steps/draft/provenance.ts";
import { normalizeTitle } from "../../steps/draft/prompt.ts";
import { wholeCharacters } from "../../steps/draft/render.ts";
import { renderNotes, type NotesSection, type NotesShape } from "./document.ts";

/** A problem for each section of `edits` that loses half of its words or more from the notes. */
export function findForgotten(
  before: readonly NotesSection[],
  after: readonly NotesSection[],
  how: { readonly edits: readonly NotesSection[]; readonly shape: NotesShape; readonly countTokens: CountTokens },
): AuditProblem[] {
  const { edits, shape, countTokens: count } = how;
  const kept = wordsOf(after.map(({ text }) => text).join("\n"));
  const full = wordTokens(renderNotes(before), count) > shape.maxTokens * NOTES_CONDENSE_SHARE;
  const known = new Set(shape.sections.map(({ title }) => normalizeTitle(title)));
  return edits.flatMap(({ title, text }): AuditProblem[] => {
    const was = before.find((section) => section.title === title)?.text ?? "";
    if (was === text || topicOf(title) === "state") return [];
    const words = wordsOf(withoutPassing(was));
    if (shareOf(words, kept) > LEAST_NOTES_SHARE) return [];
    // A short section of the notes' own shape may be rewritten, but not one that a person added.
    const isSmall = words.size < GUARDED_SECTION_WORDS && known.has(normalizeTitle(title));
    const mayCondense = isSmall || full || wordTokens(was, count) > shape.sectionTokens * NOTES_CONDENSE_SHARE;
    if (mayCondense && tellsSomething(text)) return [];
    const detail = `Section "${title}" would lose most of what stands in it, such as: ${listLost(was, kept)}. Keep it in its wording; of what no longer holds, say so in a line.`;
    return [{ kind: "shrunk", detail }];
  });
}

/** The text without the assistant's last words, which newer ones replace. */
function withoutPassing(text: string): string {
  const lines = text.split("\n");
  return lines.filter((line) => !line.startsWith(`- ${LAST_REPLY}`)).join("\n");
}

/** Longest quoted line, in characters. */
const QUOTED = 120;

function listLost(text: string, kept: ReadonlySet<string>): string {
  const lost = withoutPassing(text)
    .split("\n")
    .filter((line) => shareOf(wordsOf(line), kept) <= LEAST_NOTES_SHARE);
  const quoted = lost.slice(0, MAX_FORGOTTEN_LINES).map((line) => `"${wholeCharacters(oneLine(line), 0, QUOTED)}"`);
  return quoted.join(" · ");
}

/** 1 if there are no words at all. */
function shareOf(words: ReadonlySet<string>, kept: ReadonlySet<string>): number {
  if (words.size === 0) return 1;
  return [...words].filter((word) => kept.has(word)).length / words.size;
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** For scripts without spaces between words, each pair of adjacent characters counts as a word. */
function wordsOf(text: string): Set<string> {
  const words = [...meaningfulWords(dropReferences(text))];
  return new Set(words.flatMap((word) => (UNSPACED.test(word) ? pairsOf(Array.from(word)) : [word])));
}

function pairsOf(signs: readonly string[]): string[] {
  return signs.length < 2 ? [...signs] : signs.slice(1).map((sign, at) => `${signs[at]}${sign}`);
}
