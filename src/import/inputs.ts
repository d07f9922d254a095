/** Schemas of what the calls and methods of the room of transcripts take. */
import { z } from "zod";
import { flag, wholeNumber, type FieldsOf } from "../agent/inputs.ts";
import { FORMATS } from "./import.ts";
import type { ImportTranscriptOptions } from "./into-session.ts";

export const importOptions = {
  format: z.enum(FORMATS).optional(),
  index: wholeNumber.nonnegative().optional(),
} satisfies FieldsOf<ImportTranscriptOptions>;

export const exportOptions = { redact: flag };

/** Schemas of the options that a session's methods take. */
export const transcriptInputs = {
  importTranscript: z.strictObject(importOptions),
  exportTranscript: z.strictObject(exportOptions),
};
