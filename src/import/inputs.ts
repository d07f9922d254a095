/** Schemas of what the calls and methods of the room of transcripts take. */
import { z } from "zod";
import { flag, id, leafId, message, parentId, wholeNumber, words, type FieldsOf } from "../agent/inputs.ts";
import { MAX_BATCH_MESSAGES, MAX_NAME_CHARS } from "../limits.ts";
import { FORMATS } from "./import.ts";
import type { ImportTranscriptOptions } from "./into-session.ts";
import type { ExportPartOptions, PartEntry } from "./parts.ts";
import type { SentPart } from "./uploads.ts";

export const importOptions = {
  format: z.enum(FORMATS).optional(),
  index: wholeNumber.nonnegative().optional(),
} satisfies FieldsOf<ImportTranscriptOptions>;

/** One message of a part. */
const entry = z.strictObject({ message, parentId, was: id.optional() } satisfies FieldsOf<PartEntry>);

export const importPart = {
  upload: words(MAX_NAME_CHARS).min(1),
  at: wholeNumber.nonnegative(),
  messages: z.array(entry).max(MAX_BATCH_MESSAGES),
  last: flag,
} satisfies FieldsOf<SentPart>;

export const exportOptions = { redact: flag };

export const exportPart = {
  leafId,
  from: wholeNumber.nonnegative().default(0),
  redact: flag,
} satisfies FieldsOf<ExportPartOptions>;

/** Schemas of the options that a session's methods take. */
export const transcriptInputs = {
  importTranscript: z.strictObject(importOptions),
  exportTranscript: z.strictObject(exportOptions),
  exportPart: z.strictObject(exportPart),
  importPart: z.strictObject(importPart),
};
