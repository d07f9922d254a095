/** The calls that the room of transcripts adds. */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import { leafId, sessionId } from "../agent/inputs.ts";
import type { TranscriptMethods } from "./session-transcripts.ts";
import { importOptions, importPart, exportOptions, exportPart } from "./inputs.ts";

const call = callOf<TranscriptMethods>();

export const transcriptCalls = {
  /** Writes a whole branch as JSON lines, up to some 10 MB, beyond which `Session.exportTranscript` streams it. */
  exportTranscript: call({
    group: "read",
    input: z.strictObject({ sessionId, leafId, ...exportOptions }),
    run: async ({ session }, { sessionId, leafId, redact }) =>
      (await Array.fromAsync(session(sessionId).exportTranscript(leafId, { redact }))).join(""),
  }),
  /** Writes the next part of a branch as JSON lines, for a branch of any length. */
  exportPart: call({
    group: "read",
    input: z.strictObject({ sessionId, ...exportPart }),
    run: ({ session }, { sessionId, ...options }) => session(sessionId).exportPart(options),
  }),
  /** Appends a transcript file's conversation with its branches, all or nothing. */
  importTranscript: call({
    group: "write",
    input: z.strictObject({ sessionId, text: z.string(), ...importOptions }),
    run: ({ session }, { sessionId, text, ...options }) => session(sessionId).importTranscript(text, options),
  }),
  /** Takes a part of a conversation that is too large for one call, and stores all of it with the last part. */
  importPart: call({
    group: "write",
    input: z.strictObject({ sessionId, ...importPart }),
    run: ({ session }, { sessionId, ...part }) => session(sessionId).importPart(part),
  }),
};
