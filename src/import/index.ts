/** `palimpsest/import` reads other tools' transcripts into a session and writes a session as a transcript. */
export { transcripts, type TranscriptsExtension } from "./room.ts";
export type { ImportReceipt, TranscriptMethods } from "./session-transcripts.ts";
export type { Part, PartEntry } from "./parts.ts";
export type { PartReceipt, SentPart } from "./uploads.ts";
export type { ImportTranscriptOptions } from "./into-session.ts";
export {
  fromLegacyTables,
  fromSessions,
  type StoredBlock,
  type StoredConversation,
  type StoredPlace,
  type StoredSummary,
  type TableStorage,
} from "./store.ts";
export type { TakenIn } from "./take-in.ts";
export { exportJsonl } from "./export.ts";
export {
  detectFormat,
  FORMATS,
  importTranscript,
  type Format,
  type ImportOptions,
  type ImportResult,
} from "./import.ts";
