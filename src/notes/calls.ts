/** The calls that the room of notes adds. */
import { callOf, ignores, showReceipt } from "../agent/calls.ts";
import { ofSession } from "../agent/inputs.ts";
import { refreshInSession, updateInSession } from "./inputs.ts";
import type { NotesMethods } from "./session-notes.ts";

const call = callOf<NotesMethods>();

export const notesCalls = {
  /** Reads the session's notes, or null when there are none. */
  getNotes: call({
    group: "read",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getNotes(),
  }),
  /** Lists the versions of the notes that are kept, newest first. */
  notesHistory: call({
    group: "read",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).notesHistory(),
  }),
  /** Writes a version of the notes by hand. */
  updateNotes: call({
    group: "steer",
    input: updateInSession,
    run: ({ session }, { sessionId, ...edit }) => session(sessionId).updateNotes(edit),
  }),
  /** Asks for an update of the notes now and returns at once, with the run that will do it. */
  refreshNotes: call({
    group: "steer",
    input: refreshInSession,
    run: async (context, { sessionId, ignoreBudget }) => {
      const options = { ignoreBudget: ignores(context, ignoreBudget) };
      return showReceipt(context, await context.session(sessionId).refreshNotes(options));
    },
  }),
};
