/** `palimpsest/notes`: notes of a session that are kept while it goes on, and serve as its summary, as a room of an agent. */
export type { NotesSection } from "./steps/document.ts";
export { notes, type NotesExtension } from "./room.ts";
export type { Notes, NotesEdit, ManagerNotesMethods, NotesMethods } from "./session-notes.ts";
export type { KeepNotesOptions } from "./settings.ts";
