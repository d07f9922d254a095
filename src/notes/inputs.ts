/** Inputs of the calls and methods on notes, checked before anything is read. */
import { z } from "zod";
import { byHand, parentId, sessionId, wholeNumber, words } from "../agent/inputs.ts";
import { MAX_NOTES_BYTES, MAX_NOTES_SECTIONS } from "./limits.ts";
import type { NotesSection } from "./steps/document.ts";

export interface NotesEdit {
  /** The changed sections, each whole. One with a new title is added at the end, and an empty text empties its section. */
  readonly sections: readonly NotesSection[];
  /** The last message that the notes now cover. Null covers everything so far. The coverage stays as before by default. */
  readonly coveredId?: string | null | undefined;
  /**
   * Number of the version that the edit is based on, 0 where there was none. Refused as `conflict` when another version is in force by now.
   * Any version is accepted by default.
   */
  readonly basedOn?: number | undefined;
}

const edit = {
  sections: z
    .array(z.strictObject({ title: words(MAX_NOTES_BYTES), text: words(MAX_NOTES_BYTES) }))
    .max(MAX_NOTES_SECTIONS),
  coveredId: parentId,
  basedOn: wholeNumber.nonnegative().optional(),
};

export const notesInputs = {
  refreshNotes: z.strictObject(byHand),
  updateNotes: z.strictObject(edit),
};

export const updateInSession = z.strictObject({ sessionId, ...edit });
export const refreshInSession = z.strictObject({ sessionId, ...byHand });
