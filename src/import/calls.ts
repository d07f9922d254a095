/** The calls that the room of transcripts adds. */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import { flag, leafId, sessionId, wholeNumber, type FieldsOf } from "../agent/inputs.ts";
import { FORMATS } from "./import.ts";
import type { ImportTranscriptOptions } from "./into-session.ts";
import type { TranscriptMethods } from "./room.ts";

const call = callOf<TranscriptMethods>();

const importOptions = {
  format: z.enum(FORMATS).optional(),
  index: wholeNumber.nonnegative().optional(),
} satisfies FieldsOf<ImportTranscriptOptions>;

const exportOptions = { redact: flag };

export const transcriptCalls = {
  /** Writes a whole branch as JSON lines, up to some 10 MB, beyond which `Session.exportTranscript` streams it. */
  exportTranscript: call({
    group: "read",
    input: z.strictObject({ sessionId, leafId, ...exportOptions }),
    run: async ({ session }, { sessionId, leafId, redact }) =>
      (await Array.fromAsync(session(sessionId).exportTranscript(leafId, { redact }))).join(""),
  }),
  /** Appends a transcript file's conversation with its branches, all or nothing. */
  importTranscript: call({
    group: "write",
    input: z.strictObject({ sessionId, text: z.string(), ...importOptions }),
    run: ({ session }, { sessionId, text, ...options }) => session(sessionId).importTranscript(text, options),
  }),
};

/** Schemas of the options that a session's methods take. */
export const transcriptInputs = {
  importTranscript: z.strictObject(importOptions),
  exportTranscript: z.strictObject(exportOptions),
};
