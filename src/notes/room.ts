/**
 * The room of notes. It keeps notes of a session up to date in the background, with runs of its own, and serves a compaction from them
 * without a model call.
 */
import { assert } from "../errors.ts";
import type { Core } from "../agent/core.ts";
import type { OwnRun, ReadyText } from "../agent/hooks.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import type { LiveRun } from "../memory/runs/runs.ts";
import { answerOwnTask } from "../model/extractive.ts";
import { extractEdits } from "./steps/extract.ts";
import { NOTES_TASK } from "./steps/prompt.ts";
import { addRunSteps } from "../workflows/run-steps.ts";
import { notesCalls } from "./calls.ts";
import { foreseeNotes } from "./forecast.ts";
import { updateNotes } from "./workflow.ts";
import { auditNotes, keepNotes, planNotes, readNotes, saveNotes } from "./port.ts";
import type { NotesAsked, NotesQuestion } from "./workflow-port.ts";
import { findNotes } from "./ready.ts";
import { recallNotes } from "./recall-notes.ts";
import { serveFromNotes } from "./serve.ts";
import { NotesOfAgent, NotesOfSession, type ManagerNotesMethods, type NotesMethods } from "./session-notes.ts";
import { keptNotes } from "./settings.ts";
import { askForNotes, startNotesIfDue, type NotesCaches } from "./trigger.ts";
import { notesOf } from "./versions.ts";

/** The room as an agent is declared with it. */
export interface NotesExtension extends Extension<NotesMethods, ManagerNotesMethods, typeof notesCalls> {}

/** Adds notes to each session, as in `withCompaction(Base, { rooms: [notes()] })`. */
export function notes(): NotesExtension {
  addRunSteps("notes", updateNotes);
  answerOwnTask(NOTES_TASK.name, extractEdits);
  return { name: "notes", calls: notesCalls, install };
}

function install(core: Core): Installed<NotesMethods, ManagerNotesMethods> {
  const caches: NotesCaches = { unserved: core.db.cached(new Map()), growth: core.db.cached(new Map()) };
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
      if (run.kind === "notes") caches.growth.delete(run.sessionId);
      startNotesIfDue(core, caches, run.sessionId);
    },
    runs: { notes: updateOfNotes(core) },
    text: new NotesText(core, caches),
  };
}

/** The agent's side of an update, behind the port of its Workflow. */
function updateOfNotes(core: Core): OwnRun {
  return {
    ask: (sessionId, options) => askForNotes(core, sessionId, options),
    plan: (call, asked) => planNotes(core, call, asked as NotesAsked),
    read: (call, asked) => readNotes(core, call, asked as NotesQuestion),
    audit: (run, answer) => auditNotes(core, run, answer),
    commit: (call, key) => saveNotes(core, call, key),
    giveUp: keepNotes,
  };
}

class NotesText implements ReadyText {
  readonly #core: Core;
  readonly #caches: NotesCaches;

  /** @internal */
  constructor(core: Core, caches: NotesCaches) {
    this.#core = core;
    this.#caches = caches;
  }

  isKept(settings: Parameters<ReadyText["isKept"]>[0]): boolean {
    return keptNotes(settings) !== null;
  }

  /** A "no" is checked again only for each new version and each span of growth, so the appends in between read nothing of the notes. */
  wouldServe(...[asked, { tokens, continues }]: Parameters<ReadyText["wouldServe"]>): boolean {
    const core = this.#core;
    const { sessionId, leafId, policy } = asked;
    const settings = core.settings.get(sessionId);
    if (keptNotes(settings) === null) return false;
    const now = { settings, leafId, version: notesOf(core, core.memory.session(sessionId)).lastNumber(), tokens };
    const known = this.#caches.unserved.get(sessionId);
    const same = known?.settings === settings && known.version === now.version;
    const grown = tokens - (known?.tokens ?? 0);
    if (same && (known.leafId === leafId || known.leafId === continues) && grown >= 0 && grown < policy.minSpanTokens) {
      this.#caches.unserved.set(sessionId, { ...known, leafId });
      return false;
    }
    if (findNotes(core, { ...asked, manual: false, focus: null, fresh: false })?.kind === "ready") return true;
    this.#caches.unserved.set(sessionId, now);
    return false;
  }

  async serve(run: LiveRun): Promise<boolean> {
    return serveFromNotes(this.#core, run);
  }

  foresee(...[asked, carried]: Parameters<ReadyText["foresee"]>): ReturnType<ReadyText["foresee"]> {
    return foreseeNotes(this.#core, asked, carried ?? []);
  }

  recall(...[sessionId, asked]: Parameters<ReadyText["recall"]>): ReturnType<ReadyText["recall"]> {
    const core = this.#core;
    return recallNotes(notesOf(core, core.memory.session(sessionId)), asked, core.settings.counterOf(sessionId));
  }
}
