/**
 * The parts of {@link buildPrompt}'s input for an update of notes. Each section's token budget follows its hint, where
 * the offline model reads it too.
 */
import { SECTION_BUDGET, type Section } from "../draft/template.ts";
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
