/**
 * What a model is asked for when notes are brought up to date: the blocks of {@link buildPrompt}, and each section's budget
 * behind its hint, where the offline model reads it too.
 */
import { SECTION_BUDGET, type Section } from "../draft/template.ts";
import type { NotesSection, NotesShape } from "./document.ts";

/** The sections of the notes as the model is shown them: with the shape's hint, where they are of the shape. */
export function describeSections(notes: readonly NotesSection[], { sections, sectionTokens }: NotesShape): Section[] {
  return notes.map(({ title }) => {
    const hint = sections.find((section) => section.title === title)?.hint ?? "";
    return { title, hint: `${hint === "" ? "" : `${hint} `}At most ${sectionTokens} tokens.` };
  });
}

/** What is asked for under the headings, as it may be given back by a model that has nothing to say. */
export function hintsOf(shape: NotesShape): string[] {
  return shape.sections.map(({ hint }) => hint).filter((hint) => hint !== "");
}

/** The budget that stands behind a section's hint; null where none does. */
export function readSectionTokens(hint: string): number | null {
  const found = SECTION_BUDGET.exec(hint)?.[1];
  return found === undefined ? null : Number(found);
}
