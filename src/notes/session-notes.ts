/**
 * The notes on a session's handle, to read, edit by hand, refresh, and look back at.
 *
 * This module holds a person's calls. The trigger decides when an update is due, and the port what it reads.
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_NOTES_BYTES, MAX_NOTES_SECTIONS } from "./limits.ts";
import { utf8Length } from "../memory/messages/content.ts";
import { notesOf, type NotesCoverage, type NotesNeeds, type NotesVersion, type SessionNotes } from "./versions.ts";
import { applyEdits, splitSections } from "./steps/edits.ts";
import {
  arrangeSections,
  fitVersion,
  hasContent,
  hintsOf,
  renderNotes,
  withholdNotes,
  type NotesSection,
} from "./steps/document.ts";
import { findOpenFence, showInvisible, tellInvisible } from "../steps/text/text.ts";
import { normalizeTitle } from "../steps/draft/prompt.ts";
import { z } from "zod";
import { byHand, parentId, parseInput, sessionId, wholeNumber, words } from "../agent/inputs.ts";
import { checkNotes, ROOM, notesShapeOf, type KeepNotesOptions } from "./settings.ts";
import { askForNotes, type NotesCaches } from "./start.ts";
import type { Core, Needs } from "../agent/core.ts";
import type { ManagerState, Methods } from "../agent/extension.ts";
import type { BuilderCall } from "../agent/settings.ts";
import { missingRoom } from "../agent/missing-room.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { History } from "../memory/messages/history.ts";
import type { RunRecord } from "../memory/runs/runs.ts";

/** A version of the notes, as it is handed out. */
export interface Notes extends Omit<NotesVersion, "last"> {
  /** Markdown with every section under its heading. */
  readonly text: string;
  /** Set where covered messages were edited or deleted since. Then only a person's own text is here. */
  readonly withheld?: true;
}

export interface NotesEdit {
  /** The changed sections, each whole. One with a new title is added at the end, and an empty text empties its section. */
  readonly sections: readonly NotesSection[];
  /** The last message that the notes now cover. Null covers everything so far. The coverage stays as before by default. */
  readonly coveredId?: string | null | undefined;
  /**
   * Number of the version that the edit is based on, 0 where there was none. Refused as `conflict` when another version is in force by now.
   * Any version is accepted by default.
   */
  readonly basedOn?: number | undefined;
}

const edit = {
  sections: z
    .array(z.strictObject({ title: words(MAX_NOTES_BYTES), text: words(MAX_NOTES_BYTES) }))
    .max(MAX_NOTES_SECTIONS),
  coveredId: parentId,
  basedOn: wholeNumber.nonnegative().optional(),
};

const notesInputs = {
  refreshNotes: z.strictObject(byHand),
  updateNotes: z.strictObject(edit),
};

export const updateInSession = z.strictObject({ sessionId, ...edit });
export const refreshInSession = z.strictObject({ sessionId, ...byHand });

/** Characters of a section's title. */
const TITLE_CHARS = 120;

/** Declarations that come before a session is used. */
export interface NotesBuilder {
  /**
   * Keeps notes of the conversation in the background. When a compaction comes due, the notes become the summary without a model call,
   * wherever they hold. Throws `invalid_options`.
   */
  keepNotes(options?: KeepNotesOptions): this;
}

export class NotesOfAgent implements NotesBuilder {
  readonly #core: Core;
  readonly #collect: (call: BuilderCall) => void;

  /** @internal */
  constructor({ core, collect }: ManagerState) {
    this.#core = core;
    this.#collect = collect;
  }

  keepNotes(options: KeepNotesOptions = {}): this {
    checkNotes(options);
    const { asBlock } = options;
    const description = "Notes of this session, kept as it goes on.";
    this.#collect({
      settings: (settings) => ({ ...settings, rooms: { ...settings.rooms, [ROOM]: options } }),
      ...(asBlock !== undefined && {
        apply: (sessionId) => {
          const core = this.#core;
          const { declareText } = core.rooms;
          if (declareText === undefined) throw missingRoom(`Block "${asBlock}"`, "context");
          declareText(sessionId, asBlock, { description, get: async () => notesText(core, sessionId) });
        },
      }),
    });
    return this;
  }
}

export class NotesOfSession extends NotesOfAgent {
  readonly #state: SessionState;
  readonly #caches: NotesCaches;

  /** @internal */
  constructor(state: SessionState, caches: NotesCaches) {
    super({ core: state.core, collect: (call) => state.collect(call) });
    this.#state = state;
    this.#caches = caches;
  }

  get #notes(): SessionNotes {
    return notesOf(this.#state.core, this.#state.stored);
  }

  /** The newest version that holds for the active branch. Null when there is none. */
  async getNotes(): Promise<Notes | null> {
    const current = this.#notes.current();
    return current === null ? null : show(current);
  }

  /** The stored versions, newest first. A version that no longer holds has only a person's own text. */
  async notesHistory(): Promise<Notes[]> {
    return withholdNotes(this.#notes.list()).map(show);
  }

  /**
   * Writes a version by hand. A live update ends as `stale`, and the next one builds on this version. It is stored whole, and shown to
   * models within the budgets. Throws `invalid_input`, `conflict` for `basedOn`, `unknown_message` for `coveredId`, `session_ended`,
   * `storage_full`.
   */
  async updateNotes(edit: NotesEdit): Promise<Notes> {
    checkSections(parseInput(notesInputs.updateNotes, edit).sections);
    const state = this.#state.sameSession;
    return state.read(() => state.write<Notes>((history) => this.#put(history, edit)));
  }

  #put(history: History, edit: NotesEdit): Notes {
    history.assertNotEnded();
    this.#state.core.db.assertStorageLeft();
    const notes = notesOf(this.#state.core, history);
    const current = notes.current();
    checkBase(edit.basedOn, current?.n ?? 0);
    const shape = notesShapeOf(this.#state.core.settings.get(history.sessionId));
    const sections = put(arrangeSections(shape, current?.sections ?? []), edit.sections);
    if (sections.length > MAX_NOTES_SECTIONS || utf8Length(JSON.stringify(sections)) > MAX_NOTES_BYTES) {
      throw invalid(`The notes may hold ${MAX_NOTES_SECTIONS} sections and ${MAX_NOTES_BYTES} bytes.`);
    }
    const covered = coverageOf(history, notes, edit.coveredId) ?? current?.covered ?? { kind: "none" };
    const { runId = null, model = null, last = null } = current ?? {};
    this.#caches.marks.delete(history.sessionId);
    return show(notes.add({ sections, covered, last, by: "hand", runId, model }));
  }

  /**
   * Asks for an update now, or joins the live one. Returns at once. With `ignoreBudget`, the default, the model is asked although it is
   * down or the budget is spent. Throws `not_configured`, `session_ended`, `invalid_state`.
   */
  async refreshNotes(options: { readonly ignoreBudget?: boolean } = {}): Promise<{
    readonly run: RunRecord;
    readonly joined: boolean;
  }> {
    const { ignoreBudget = true } = parseInput(notesInputs.refreshNotes, options);
    this.#state.apply();
    const receipt = this.#state.core.db.transaction<{ run: RunRecord; joined: boolean }>(() =>
      askForNotes(this.#state.core, this.#state.id, { ignoreBudget }),
    );
    return receipt;
  }
}

/** What notes claim to cover. Null where the claim stays as before. */
function coverageOf(history: History, notes: SessionNotes, coveredId: NotesEdit["coveredId"]): NotesCoverage | null {
  if (coveredId === undefined) return null;
  const leafId = history.leafId();
  const messageId = coveredId ?? leafId;
  // Before the first message, it covers any messages that come later from elsewhere.
  if (messageId === null) return { kind: "unknown" };
  const end = notes.endOf(messageId);
  if (end !== null && leafId !== null && history.isOnPath(messageId, leafId)) return { kind: "to", ...end };
  throw new PalimpsestError(
    "unknown_message",
    `There is no message "${messageId}" on the active branch. Give the id of the last message that the notes tell of.`,
  );
}

/** The session's notes as a model always sees them, within their budgets. Null while they have no content. */
function notesText(core: Needs<NotesNeeds | "settings">, sessionId: string): string | null {
  const settings = core.settings.get(sessionId);
  const shape = notesShapeOf(settings);
  const current = notesOf(core, core.memory.session(sessionId)).current();
  if (current === null || !hasContent(current.sections, hintsOf(shape))) return null;
  return renderNotes(fitVersion(current, shape, settings.countTokens));
}

function show({ last: _last, ...version }: NotesVersion): Notes {
  return { ...version, text: renderNotes(version.sections) };
}

function put(known: readonly NotesSection[], edits: readonly NotesSection[]): NotesSection[] {
  const named = edits.map(({ title, text }) => ({
    title: known.find((each) => normalizeTitle(each.title) === normalizeTitle(title))?.title ?? title.trim(),
    text: text.trim(),
  }));
  const added = named.filter(({ title }) => !known.some((each) => each.title === title));
  return [...applyEdits(known, named), ...added];
}

function checkBase(basedOn: number | undefined, n: number): void {
  if (basedOn === undefined || basedOn === n) return;
  throw new PalimpsestError(
    "conflict",
    `The notes that were changed are version ${String(basedOn)}; by now ${n === 0 ? "none is" : `version ${n} is`} in force. Read them again (getNotes), make the change there, and send that one's number as basedOn.`,
  );
}

/** A text must parse as one section. A heading of its level inside would begin another. */
function checkSections(sections: readonly NotesSection[]): void {
  if (sections.length === 0) throw invalid("Give at least one section: { title, text }.");
  const titles = new Set<string>();
  for (const { title, text } of sections) {
    const fits = title.length <= TITLE_CHARS && normalizeTitle(title) !== "";
    if (!fits || /[\r\n]/.test(title.trim()) || title.trim().startsWith("#")) {
      throw invalid(`A section's title is one line of 1 to ${TITLE_CHARS} characters that does not begin with "#".`);
    }
    if (titles.has(normalizeTitle(title))) throw invalid(`Section "${title}" is given twice.`);
    titles.add(normalizeTitle(title));
    const hidden = tellInvisible(`${title}\n${text}`);
    if (hidden !== null) throw invalid(`Section "${showInvisible(title)}" ${hidden}`);
    if (findOpenFence(text) !== null) {
      throw invalid(
        `Section "${title}" leaves a code fence open, in which the sections behind it would stand. Close it.`,
      );
    }
    if (splitSections(text).length > 1) {
      throw invalid(
        `Section "${title}" holds a "## " heading, which would begin another section. Use "###" inside one.`,
      );
    }
  }
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_input", message);
}

/** The methods that the room adds to a session. */
export interface NotesMethods extends Methods<Omit<NotesOfSession, keyof NotesBuilder>>, NotesBuilder {}

/** The methods that the room adds to a manager of sessions. */
export interface ManagerNotesMethods extends NotesBuilder {}
