/** `palimpsest/import` reads other tools' transcripts into a session and writes a session as a transcript. */
export {
  transcripts,
  type ImportReceipt,
  type ImportTranscriptOptions,
  type TranscriptMethods,
  type TranscriptsExtension,
} from "./room.ts";
export { partsOf, type Part, type PartEntry, type PartReceipt, type SentPart } from "./parts.ts";
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
  chooseConversation,
  detectFormat,
  exportJsonl,
  FORMATS,
  importTranscript,
  type Conversation,
  type Format,
  type ImportOptions,
  type ImportResult,
} from "./import.ts";
