/** `palimpsest/import` reads other tools' transcripts into a session and writes a session as a transcript. */
export { transcripts, type ImportReceipt, type TranscriptMethods } from "./room.ts";
export type { ImportTranscriptOptions } from "./into-session.ts";
export { exportJsonl } from "./export.ts";
export {
  detectFormat,
  FORMATS,
  importTranscript,
  type Format,
  type ImportOptions,
  type ImportResult,
} from "./import.ts";
