/**
 * Reads a model's answer to an update of the notes. It has the changed sections, each whole, and no other.
 *
 *     ## Current state
 *     Session: moving the parser to its own file. Next: the tests.
 *
 *     ## Worklog
 *     - moved `parse()` to parse.ts [#12]
 *
 * or `No changes.` A heading is a line `## Title` outside a code fence.
 *
 * An answer and the sections before it in, the sections after it or the audit's problems out. A section that the answer
 * does not name stays byte for byte. An answer that would remove most of the notes is refused like an invalid one.
 */
import { GUARDED_NOTES_TOKENS, LEAST_NOTES_SHARE } from "../../limits-of-notes.ts";
import { findFalseAnswers, type AuditProblem } from "../draft/audit.ts";
import { NOTHING } from "../extract/summary-shape.ts";
import type { CountTokens } from "../message/measure.ts";
import { normalizeTitle } from "../draft/template.ts";
import { hasContent, notesTokens, renderNotes, type NotesSection, type NotesShape } from "./document.ts";
import { isWithin, wordTokens } from "../draft/cut-section.ts";
import { findOpenFence, followFence } from "../text/fences.ts";
import { findForgotten } from "./forgotten.ts";
import { hintsOf } from "./prompt.ts";

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

/** The sections that an answer names, each once, under the headings of `known`, and the problems with the answer's shape. */
export function parseEdits(
  answer: string,
  known: readonly NotesSection[],
): { edits: readonly NotesSection[]; problems: readonly AuditProblem[] } {
  const text = unwrap(answer.trim());
  if (/^no changes?\.?$/i.test(text)) return { edits: [], problems: [] };
  const problems: AuditProblem[] = [];
  const titles = new Map(known.map(({ title }) => [normalizeTitle(title), title]));
  const edits: NotesSection[] = [];
  for (const { title: written, text: body } of splitSections(text)) {
    const title = written === null ? undefined : titles.get(normalizeTitle(written));
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
    } else edits.push({ title, text: body === NOTHING ? "" : body });
  }
  if (edits.length === 0 && problems.length === 0) {
    problems.push(shapeProblem(`No section is given. Write those that change, or "${NO_CHANGES}"`));
  }
  return { edits, problems };
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
    const title = fence === null ? /^##[ \t]+(\S.*?)[ \t]*#*[ \t]*$/.exec(line)?.[1] : undefined;
    if (title === undefined) found.at(-1)?.lines.push(line);
    else found.push({ title, lines: [] });
  }
  return found.map(({ title, lines }) => ({ title, text: lines.join("\n").trim() }));
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
  const least = Math.min(had, shape.maxTokens) * LEAST_NOTES_SHARE;
  const hints = hintsOf(shape);
  const emptied = hasContent(before, hints) && !hasContent(after, hints);
  if (!emptied) problems.push(...findForgotten(before, after, { edits, shape, countTokens: count }));
  if (emptied || (had >= GUARDED_NOTES_TOKENS && has < least)) {
    const detail = `The notes would go from ${had} tokens to ${has}. Keep what still holds: only change what the new messages change.`;
    problems.push({ kind: "shrunk", detail });
  }
  return problems;
}

function shapeProblem(detail: string): AuditProblem {
  return { kind: "bad-shape", detail };
}
