/**
 * The room of notes. It keeps notes of a session up to date in the background, with runs of its own, and serves a compaction from them
 * without a model call.
 */
import { assert } from "../errors.ts";
import type { AskedRun, Core, InRun, StepCall, SummaryRoom } from "../agent/core.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import type { LiveRun } from "../memory/runs/runs.ts";
import { answerOwnTask } from "../model/extractive.ts";
import { extractEdits } from "./steps/extract.ts";
import { NOTES_TASK } from "./steps/prompt.ts";
import { addRunSteps } from "../workflows/run-steps.ts";
import { notesCalls } from "./calls.ts";
import { foreseeNotes } from "./forecast.ts";
import { updateNotes } from "./workflow.ts";
import { auditNotes, keepNotes, planNotes, readNotes, readUnread, saveNotes, type UnreadNotes } from "./port.ts";
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

/** The steps of an update, by the names under which its Workflow calls them. */
const STEPS: Readonly<Record<string, (call: StepCall, ...args: never[]) => unknown>> = {
  plan: planNotes,
  read: readNotes,
  save: saveNotes,
  keep: keepNotes,
};

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
    summaries: new NotesSummaries(core, caches),
  };
}

function isUnread(answer: unknown): answer is UnreadNotes {
  return typeof answer === "object" && answer !== null && "kind" in answer && answer.kind === "unread";
}

class NotesSummaries implements SummaryRoom {
  readonly #core: Core;
  readonly #caches: NotesCaches;

  /** @internal */
  constructor(core: Core, caches: NotesCaches) {
    this.#core = core;
    this.#caches = caches;
  }

  isKept(settings: Parameters<SummaryRoom["isKept"]>[0]): boolean {
    return keptNotes(settings) !== null;
  }

  grew(sessionId: string): void {
    startNotesIfDue(this.#core, this.#caches, sessionId);
  }

  ended(run: LiveRun): void {
    if (run.kind === "notes") this.#caches.growth.delete(run.sessionId);
    this.grew(run.sessionId);
  }

  isReady(run: AskedRun): boolean {
    return findNotes(this.#core, run)?.kind === "ready";
  }

  /** A "no" is checked again only for each new version and each span of growth, so the appends in between read nothing of the notes. */
  wouldServe(...[asked, { tokens, continues }]: Parameters<SummaryRoom["wouldServe"]>): boolean {
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
    if (this.isReady({ ...asked, manual: false, focus: null, fresh: false })) return true;
    this.#caches.unserved.set(sessionId, now);
    return false;
  }

  async serve(run: LiveRun): Promise<boolean> {
    return serveFromNotes(this.#core, run);
  }

  foresee(...[asked, carried]: Parameters<SummaryRoom["foresee"]>): ReturnType<SummaryRoom["foresee"]> {
    return foreseeNotes(this.#core, asked, carried);
  }

  ask(...[sessionId, options]: Parameters<SummaryRoom["ask"]>): ReturnType<SummaryRoom["ask"]> {
    return askForNotes(this.#core, sessionId, options);
  }

  audit(...[run, answer]: Parameters<SummaryRoom["audit"]>): ReturnType<SummaryRoom["audit"]> {
    return auditNotes(this.#core, run, answer);
  }

  doStep(call: StepCall, step: string, args: readonly unknown[]): unknown {
    const work = STEPS[step];
    assert(work !== undefined, `A workflow asked for the step "${step}", which an update of notes does not have.`);
    return work(call, ...(args as never[]));
  }

  async readOn(answer: unknown, inRun: InRun): Promise<unknown> {
    if (!isUnread(answer)) return answer;
    const read = await readUnread(this.#core, answer);
    return read.kind === "over" ? inRun((call) => call.end(read.outcome)) : read;
  }

  recall(...[sessionId, asked]: Parameters<SummaryRoom["recall"]>): ReturnType<SummaryRoom["recall"]> {
    const core = this.#core;
    return recallNotes(notesOf(core, core.memory.session(sessionId)), asked, core.settings.counterOf(sessionId));
  }
}
