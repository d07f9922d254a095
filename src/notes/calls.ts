/** The calls that the room of notes adds. */
import { callOf, ignores, showReceipt } from "../agent/calls.ts";
import { ofSession } from "../agent/inputs.ts";
import { refreshInSession, updateInSession } from "./inputs.ts";
import type { NotesMethods } from "./room.ts";

const call = callOf<NotesMethods>();

export const notesCalls = {
  getNotes: call({
    group: "read",
    does: "Reads the session's notes, or null when there are none.",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getNotes(),
  }),
  notesHistory: call({
    group: "read",
    does: "Lists the versions of the notes that are kept, newest first.",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).notesHistory(),
  }),
  updateNotes: call({
    group: "steer",
    does: "Writes a version of the notes by hand.",
    input: updateInSession,
    run: ({ session }, { sessionId, ...edit }) => session(sessionId).updateNotes(edit),
  }),
  refreshNotes: call({
    group: "steer",
    does: "Asks for an update of the notes now and returns at once, with the run that will do it.",
    input: refreshInSession,
    run: async (context, { sessionId, ignoreBudget }) => {
      const options = { ignoreBudget: ignores(context, ignoreBudget) };
      return showReceipt(context, await context.session(sessionId).refreshNotes(options));
    },
  }),
};
