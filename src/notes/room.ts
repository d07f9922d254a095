/**
 * The room of notes. It keeps notes of a session up to date in the background, with runs of its own, and promotes them to the summary of a
 * compaction without a model call.
 */
import { assert } from "../errors.ts";
import { callOf, ignores, showReceipt } from "../agent/calls.ts";
import type { Core } from "../agent/core.ts";
import type { ReadyText } from "../agent/hooks.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { ofSession } from "../agent/inputs.ts";
import { answerRoomTask } from "../model/extractive.ts";
import { addRunSteps } from "../workflows/run-steps.ts";
import { findNotes, promoteNotes } from "./promote.ts";
import {
  NotesOfAgent,
  NotesOfSession,
  refreshInSession,
  updateInSession,
  type ManagerNotesMethods,
  type NotesMethods,
} from "./session-notes.ts";
import { keptNotes } from "./settings.ts";
import { extractEdits, NOTES_TASK } from "./steps/prompt.ts";
import { startNotesIfDue, type NotesCaches } from "./start.ts";
import { updateOfNotes } from "./update.ts";
import { notesOf, recallNotes } from "./versions.ts";
import { updateNotes } from "./workflow.ts";

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

/** The room as an agent is declared with it. */
export interface NotesExtension extends Extension<NotesMethods, ManagerNotesMethods, typeof notesCalls> {}

/** Adds notes to each session, as in `withCompaction(Base, { rooms: [notes()] })`. */
export function notes(): NotesExtension {
  addRunSteps("notes", updateNotes);
  answerRoomTask(NOTES_TASK.name, extractEdits);
  return { name: "notes", calls: notesCalls, install };
}

function install(core: Core): Installed<NotesMethods, ManagerNotesMethods> {
  const caches: NotesCaches = { unserved: core.db.cached(new Map()), marks: core.db.cached(new Map()) };
  return {
    // A builder's method returns the handle that it was called on.
    session: (state) => new NotesOfSession(state, caches),
    manager: (state) => new NotesOfAgent(state),
    copied: (fromId, toId) => core.memory.statements.copyNotes(fromId, toId),
    continued: (fromId, toId, stoodFor) => {
      const [from, to] = [fromId, toId].map((id) => notesOf(core, core.memory.session(id)));
      assert(from !== undefined && to !== undefined, "Two sessions have notes of their own.");
      from.passOn(to, stoodFor);
    },
    grew: (sessionId) => startNotesIfDue(core, caches, sessionId),
    runEnded: (run) => {
      if (run.kind === "notes") caches.marks.delete(run.sessionId);
      startNotesIfDue(core, caches, run.sessionId);
    },
    runs: { notes: updateOfNotes(core) },
    text: notesText(core, caches),
  };
}

function notesText(core: Core, { unserved }: NotesCaches): ReadyText {
  return {
    isKept: (settings) => keptNotes(settings) !== null,
    /** A "no" is checked again only for each new version and each span of growth, so the appends in between read nothing of the notes. */
    wouldServe: (asked, { tokens, continues }) => {
      const { sessionId, leafId, policy } = asked;
      const settings = core.settings.get(sessionId);
      if (keptNotes(settings) === null) return false;
      const now = { settings, leafId, version: notesOf(core, core.memory.session(sessionId)).lastNumber(), tokens };
      const known = unserved.get(sessionId);
      const same = known?.settings === settings && known.version === now.version;
      const grown = tokens - (known?.tokens ?? 0);
      if (
        same &&
        (known.leafId === leafId || known.leafId === continues) &&
        grown >= 0 &&
        grown < policy.minSpanTokens
      ) {
        unserved.set(sessionId, { ...known, leafId });
        return false;
      }
      if (findNotes(core, { ...asked, manual: false, focus: null, fresh: false })?.kind === "ready") return true;
      unserved.set(sessionId, now);
      return false;
    },
    serve: async (run) => promoteNotes(core, run),
    foresee: (asked, carried) => {
      const found = findNotes(core, asked, carried);
      if (found?.kind !== "ready") return found;
      const { plan, version, tokensAfter } = found;
      return { kind: "serve", version: version.n, expectedTokens: tokensAfter, plan };
    },
    recall: (sessionId, asked) =>
      recallNotes(notesOf(core, core.memory.session(sessionId)), asked, core.settings.counterOf(sessionId)),
  };
}
