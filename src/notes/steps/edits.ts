/**
 * Reads a model's answer to an update of the notes. It has the changed sections and no other. Of a section that mostly
 * stays it has the changes alone, because answers are the dear part of an update.
 *
 *     ## Current state
 *     Session: moving the parser to its own file. Next: the tests.
 *
 *     ## Worklog (added)
 *     ~~- moving `parse()`…~~
 *     - moved `parse()` to parse.ts [#12]
 *
 * or `No changes.` A heading is a line `## Title` outside a code fence. The first section above is whole. The second one
 * loses the line that begins like the text between the tildes, and the other lines are added behind its last.
 *
 * An answer and the sections before it in, the sections after it or the audit's problems out. A section that the answer
 * does not name stays byte for byte. An answer that would remove most of the notes is refused like an invalid one.
 */
import {
  GUARDED_NOTES_TOKENS,
  GUARDED_SECTION_WORDS,
  LEAST_NOTES_SHARE,
  MAX_FORGOTTEN_LINES,
  NOTES_CONDENSE_SHARE,
} from "../limits.ts";
import {
  findFalseAnswers,
  type AuditProblem,
  LAST_REPLY,
  NOTHING,
  isWithin,
  oneLine,
  tellsSomething,
  topicOf,
  wordTokens,
} from "../../steps/draft/audit.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { dropReferences, splitReferences } from "../../steps/draft/provenance.ts";
import { normalizeTitle } from "../../steps/draft/prompt.ts";
import { wholeCharacters } from "../../steps/draft/render.ts";
import {
  hasContent,
  hintsOf,
  notesTokens,
  POINTER,
  renderNotes,
  type NotesSection,
  type NotesShape,
} from "./document.ts";
import { findOpenFence, followFence, meaningfulWords } from "../../steps/text/text.ts";

/** Stands behind a heading whose section is given by its changes. */
export const ADDED = "(added)";

/** Stands at the end of a quoted beginning. */
export const AND_SO_ON = "…";

/** The answer that changes nothing. */
export const NO_CHANGES = "No changes.";

export type NotesAudit =
  | { readonly ok: true; readonly sections: readonly NotesSection[]; readonly tokens: number }
  | { readonly ok: false; readonly problems: readonly AuditProblem[] };

/** Audits an answer and returns the notes after it, or the problems. `before` has all current sections. */
export function auditEdits(input: {
  readonly answer: string;
  readonly finishReason: string;
  readonly before: readonly NotesSection[];
  readonly shape: NotesShape;
  readonly countTokens: CountTokens;
}): NotesAudit {
  const { answer, finishReason, before, shape, countTokens } = input;
  const { edits, problems } = parseEdits(answer, before);
  const after = applyEdits(before, edits);
  const wrong = [...findFalseAnswers(answer.trim(), finishReason), ...problems];
  if (wrong.length === 0) wrong.push(...findMisfits(before, after, { edits, shape, countTokens }));
  return wrong.length === 0
    ? { ok: true, sections: after, tokens: notesTokens(after, countTokens) }
    : { ok: false, problems: wrong };
}

/**
 * The sections that an answer names, each once and whole, under the headings of `known`, and the problems with the
 * answer's shape.
 */
export function parseEdits(
  answer: string,
  known: readonly NotesSection[],
): { edits: readonly NotesSection[]; problems: readonly AuditProblem[] } {
  const text = unwrap(answer.trim());
  if (/^no changes?\.?$/i.test(text)) return { edits: [], problems: [] };
  const problems: AuditProblem[] = [];
  const edits: NotesSection[] = [];
  let isNamed = false;
  for (const { title: written, text: body } of splitSections(text)) {
    const { section, isWhole } = findSection(written, known);
    const title = section?.title;
    if (findOpenFence(body) !== null) {
      problems.push(shapeProblem("A code fence is not closed, so that what follows stands in it. End each fence."));
    }
    if (written === null) {
      if (body !== "")
        problems.push(shapeProblem(`Text stands before the first heading: begin with "## " and a title.`));
    } else if (title === undefined) {
      problems.push(
        shapeProblem(`There is no section "${written.slice(0, TITLE_SHOWN)}". Use the given headings only.`),
      );
    } else if (edits.some((edit) => edit.title === title)) {
      problems.push(shapeProblem(`Section "${title}" stands twice. Write it once, whole.`));
    } else if (isWhole || section === undefined) edits.push({ title, text: body === NOTHING ? "" : body });
    else {
      const changed = applyChanges(section.text, body === NOTHING ? "" : body);
      // The known text may be cut. A section without a change is not replaced by it.
      if (changed.text !== section.text) edits.push({ title, text: changed.text });
      problems.push(...changed.unknown.map((line) => unknownLine(title, line)));
      isNamed = true;
    }
  }
  if (edits.length === 0 && problems.length === 0 && !isNamed) {
    problems.push(shapeProblem(`No section is given. Write those that change, or "${NO_CHANGES}"`));
  }
  return { edits, problems };
}

/** The section of a heading, and whether its text is given whole. */
function findSection(
  written: string | null,
  known: readonly NotesSection[],
): { readonly section: NotesSection | undefined; readonly isWhole: boolean } {
  const find = (title: string): NotesSection | undefined =>
    known.find((each) => normalizeTitle(each.title) === normalizeTitle(title));
  if (written === null) return { section: undefined, isWhole: true };
  const section = find(written);
  if (section !== undefined || !written.endsWith(ADDED)) return { section, isWhole: true };
  return { section: find(written.slice(0, -ADDED.length)), isWhole: false };
}

/**
 * A text without its lines that `changes` quotes between tildes, and with the other lines of `changes` behind it. A
 * quotation may leave out references, and end early with {@link AND_SO_ON} where one line alone begins like it.
 */
export function applyChanges(
  text: string,
  changes: string,
): { readonly text: string; readonly unknown: readonly string[] } {
  const lines = text.split("\n");
  const gone = new Set<number>();
  const unknown: string[] = [];
  const added: string[] = [];
  let fence: string | null = null;
  for (const line of changes === "" ? [] : changes.split("\n")) {
    const quoted = fence === null ? /^\s*~~(?!~)(.+)~~\s*$/.exec(splitReferences(line).text)?.[1] : undefined;
    fence = followFence(fence, line);
    const found = quoted === undefined ? [] : findQuoted(lines, quoted);
    if (quoted === undefined) added.push(line);
    else if (found.length === 0) unknown.push(quoted);
    for (const at of found) gone.add(at);
  }
  const kept = gone.size === 0 ? text : lines.filter((_, at) => !gone.has(at)).join("\n");
  return { text: addLines(kept, added.join("\n").trim()), unknown };
}

/** The places of a quoted line. Equal lines count as one. Empty where no line is meant, or several. */
function findQuoted(lines: readonly string[], quoted: string): number[] {
  const plain = plainLine(quoted);
  const placesOf = (isMeant: (line: string) => boolean): number[] =>
    [...lines.entries()].flatMap(([at, line]) => (isMeant(plainLine(line)) ? [at] : []));
  const equal = placesOf((line) => line === plain);
  const beginning = plain.endsWith(AND_SO_ON) ? plain.slice(0, -AND_SO_ON.length).trimEnd() : "";
  if (equal.length > 0 || beginning === "") return equal;
  const found = placesOf((line) => line.startsWith(beginning));
  return new Set(found.map((at) => plainLine(lines[at] ?? ""))).size === 1 ? found : [];
}

/** A line as quotations are compared, without references and spaces around it. */
export function plainLine(line: string): string {
  return splitReferences(line).text.trim();
}

/** The text with lines behind it. A blank line parts them from a text that does not end in a list. */
export function addLines(text: string, lines: string): string {
  const before = text.trim();
  const isList = /(?:^|\n)(?:[-*+] |\d{1,3}[.)] |[ \t]+\S)[^\n]*$/.test(before);
  return [before, lines].filter((part) => part !== "").join(isList ? "\n" : "\n\n");
}

const TITLE_SHOWN = 60;

/** Replaces the edited sections in place. */
export function applyEdits(sections: readonly NotesSection[], edits: readonly NotesSection[]): NotesSection[] {
  return sections.map((section) => edits.find(({ title }) => title === section.title) ?? section);
}

/** Splits markdown at its `## ` headings outside code fences. `title` is null for the text before the first heading. */
export function splitSections(markdown: string): { title: string | null; text: string }[] {
  const found: { title: string | null; lines: string[] }[] = [{ title: null, lines: [] }];
  let fence: string | null = null;
  for (const line of markdown.split("\n")) {
    fence = followFence(fence, line);
    const title = fence === null ? titleOf(line) : undefined;
    if (title === undefined) found.at(-1)?.lines.push(line);
    else found.push({ title, lines: [] });
  }
  return found.map(({ title, lines }) => ({ title, text: lines.join("\n").trim() }));
}

/** Reads a heading without the signs that may close it. Reads from both ends, so its time is linear in the line. */
function titleOf(line: string): string | undefined {
  const title = /^##[ \t]+(\S.*)$/.exec(line)?.[1];
  if (title === undefined) return undefined;
  let end = title.length;
  for (const signs of [" \t", "#", " \t"]) while (end > 1 && signs.includes(title.charAt(end - 1))) end--;
  return title.slice(0, end);
}

/** Removes a code fence around the whole text. */
function unwrap(text: string): string {
  const inside = /^(`{3,}|~{3,})\w*\n([^]*)\n\1$/.exec(text)?.[2]?.trim();
  return inside !== undefined && /^(?:##[ \t]|no changes?\b)/i.test(inside) ? inside : text;
}

function findMisfits(
  before: readonly NotesSection[],
  after: readonly NotesSection[],
  { edits, shape, countTokens: count }: { edits: readonly NotesSection[]; shape: NotesShape; countTokens: CountTokens },
): AuditProblem[] {
  const problems: AuditProblem[] = [];
  for (const { title, text } of edits) {
    if (isWithin(text, shape.sectionTokens, count)) continue;
    const detail = `Section "${title}" is ${wordTokens(text, count)} tokens; at most ${shape.sectionTokens} are allowed. Condense it, and give fewer references.`;
    problems.push({ kind: "too-large", detail });
  }
  const [had, has] = [notesTokens(before, count), notesTokens(after, count)];
  if (has > had && !isWithin(renderNotes(after), shape.maxTokens, count)) {
    const detail = `The notes would be ${wordTokens(renderNotes(after), count)} tokens; at most ${shape.maxTokens} are allowed. Condense their longest sections.`;
    problems.push({ kind: "too-large", detail });
  }
  const least = Math.min(had - cutTokens(before, edits, count), shape.maxTokens) * LEAST_NOTES_SHARE;
  const hints = hintsOf(shape);
  const emptied = hasContent(before, hints) && !hasContent(after, hints);
  if (!emptied) problems.push(...findForgotten(before, after, { edits, shape, countTokens: count }));
  if (emptied || (had >= GUARDED_NOTES_TOKENS && has < least)) {
    const detail = `The notes would go from ${had} tokens to ${has}. Keep what still holds: only change what the new messages change.`;
    problems.push({ kind: "shrunk", detail });
  }
  return problems;
}

/** Tokens of the edited sections that are shown cut, and may be condensed because no update could fill them further. */
function cutTokens(before: readonly NotesSection[], edits: readonly NotesSection[], count: CountTokens): number {
  const cut = before.filter(({ title, text }) => text.includes(POINTER) && edits.some((edit) => edit.title === title));
  return cut.reduce((sum, { text }) => sum + count(text), 0);
}

function unknownLine(title: string, line: string): AuditProblem {
  return shapeProblem(
    `Section "${title}" has no line, or several, that begin like "${line.slice(0, TITLE_SHOWN)}". Write the section whole.`,
  );
}

function shapeProblem(detail: string): AuditProblem {
  return { kind: "bad-shape", detail };
}

/**
 * A problem for each section of `edits` that loses half of its words or more from the notes although nothing says that they are over.
 *
 * It compares words, not sentences. A model may condense a section or move text to another one. A section about the present is exempt, and a
 * section that is nearly full may lose words, but it must not be emptied.
 */
function findForgotten(
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
