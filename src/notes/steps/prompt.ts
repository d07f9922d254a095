/**
 * The parts of {@link buildPrompt}'s input for an update of notes. Each section's token budget follows its hint, where
 * the offline model reads it too.
 */
import { SECTION_BUDGET, type Section, rules, type OwnTask } from "../../steps/draft/prompt.ts";
import type { NotesSection, NotesShape } from "./document.ts";

/** The sections of the notes for the model, with the shape's hints where the shape has the section. */
export function describeSections(notes: readonly NotesSection[], { sections, sectionTokens }: NotesShape): Section[] {
  return notes.map(({ title }) => {
    const hint = sections.find((section) => section.title === title)?.hint ?? "";
    return { title, hint: `${hint === "" ? "" : `${hint} `}At most ${sectionTokens} tokens.` };
  });
}

/** The hints of the sections. A model with nothing to say may repeat them as its answer. */
export function hintsOf(shape: NotesShape): string[] {
  return shape.sections.map(({ hint }) => hint).filter((hint) => hint !== "");
}

/** The budget after a section's hint. Null where there is none. */
export function readSectionTokens(hint: string): number | null {
  const found = SECTION_BUDGET.exec(hint)?.[1];
  return found === undefined ? null : Number(found);
}

/** Stands behind a heading whose section is given by its changes. */
export const ADDED = "(added)";

/** Stands at the end of a quoted beginning. */
export const AND_SO_ON = "…";

const TASK =
  "Bring the notes up to date with the transcript, which goes on where they end. Answer with what changes and no other " +
  `section. Of a section whose lines mostly stay, write the changes alone: the heading "## Title ${ADDED}", then the new ` +
  `lines, which come behind the old, and each line that no longer holds as ~~its beginning${AND_SO_ON}~~, which takes it ` +
  'out. A section of which most changes, like the current state, write whole: its heading as a line "## Title", then all of ' +
  "its text, the old that still holds in its wording included. A section that you do not write stays as it is. If nothing " +
  'changes, answer "No changes." Where a draft is given, it is an answer that was refused: write it again without the ' +
  "problems listed.";

const SYSTEM = `You keep the notes of an assistant at work. When messages no longer fit its context, the notes take their place, and the assistant goes on from them without seeing the messages again. What you take out is forgotten; what you invent is believed.

Rules:
${rules("Use only the section headings you are given. Keep each section within its budget; condense what is old and settled first.", "sections")}`;

/**
 * Brings notes (`previous`) up to date with a transcript. A second try has the refused answer in `drafts` and its
 * `problems`.
 */
export const NOTES_TASK: OwnTask = {
  name: "notes",
  system: SYSTEM,
  task: TASK,
  closing: "Now write what changes.",
};
