/** `palimpsest/import` reads other tools' transcripts into a session and writes a session as a transcript. */
export {
  transcripts,
  type ImportReceipt,
  type ImportTranscriptOptions,
  type TranscriptMethods,
  type TranscriptsExtension,
} from "./room.ts";
export type { Part, PartEntry, PartReceipt, SentPart } from "./parts.ts";
export {
  fromLegacyTables,
  fromSessions,
  type StoredBlock,
  type StoredConversation,
  type StoredPlace,
  type StoredSummary,
  type TableStorage,
  type TakenIn,
} from "./stores.ts";
export {
  detectFormat,
  exportJsonl,
  FORMATS,
  importTranscript,
  type Format,
  type ImportOptions,
  type ImportResult,
} from "./import.ts";
