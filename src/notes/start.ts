/**
 * Decides whether a session's notes need an update now, and writes the run's ledger row.
 *
 * Runs inside the transaction of each change that grew the session, like src/agent/runs/trigger.ts. With warm caches it reads the newest
 * two messages' rows and writes none. A session has one update at a time, and growth starts none during a compaction, which may ask for one itself (promote.ts). After
 * a fruitless update, as much growth must come again as before the first.
 */
import { PalimpsestError } from "../errors.ts";
import { notesOf, type NotesEnd, type NotesNeeds } from "./versions.ts";
import type { LiveRun, RunRecord } from "../memory/runs/runs.ts";
import type { Policy } from "../steps/plan/policy.ts";
import { isUpdateDue } from "./steps/cut.ts";
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { promptTokens } from "../agent/reports/usage.ts";
import type { Needs } from "../agent/core.ts";
import { keptNotes, resolveNotes } from "./settings.ts";
import type { SessionSettings } from "../agent/settings.ts";
import { endIfInVain, findModelObstacle } from "../agent/runs/trigger.ts";

/** Notes that did not serve a postponed run at the last look. */
interface Unserved {
  readonly settings: SessionSettings;
  readonly leafId: string;
  /** Newest version of the notes, and tokens of the view. */
  readonly version: number;
  readonly tokens: number;
}

/** Caches since the object woke, so that a warm append asks nothing twice. Dropped on a rollback. */
export interface NotesCaches {
  /** By session, the state in which notes last did not serve a postponed run. */
  readonly unserved: Map<string, Unserved>;
  /** By session, the place from which the growth since its last notes is counted. */
  readonly marks: Map<string, NotesEnd | null>;
}

/** What an update of the notes is started with. */
export type Starts = Needs<NotesNeeds | "health" | "runs" | "spend" | "usage">;

/** Call inside a transaction. */
export function startNotesIfDue(core: Starts, caches: NotesCaches, sessionId: string): LiveRun | null {
  const settings = core.settings.get(sessionId);
  const { policy } = settings;
  const notes = keptNotes(settings);
  if (notes === null || policy === null) return null;
  // A run that waits for a person may wait for a day.
  if (core.runs.live(sessionId).some(({ state }) => state !== "proposed")) return null;
  const history = core.memory.session(sessionId);
  if (history.hasEnded) return null;
  const { pace } = resolveNotes(notes, policy, settings.when?.rule);
  if (history.size().tokens < pace.leastTokens) return null;
  const mark = caches.marks.has(sessionId) ? (caches.marks.get(sessionId) ?? null) : findMark(core, sessionId);
  caches.marks.set(sessionId, mark);
  const stored = notesOf(core, history);
  const tokens = stored.grownTokens(mark, history.active, pace.mostTokens);
  const leafId = history.leafId();
  if (leafId === null || !isUpdateDue(tokens, pace, () => stored.callsSince(mark))) return null;
  if (findModelObstacle(core, sessionId) !== null) return null;
  return startNotes(core, sessionId, { trigger: "growth", leafId });
}

export interface NotesRequest {
  readonly retryOf?: string | null;
  /** Asks the model although it is down or the budget is spent. */
  readonly ignoreBudget: boolean;
}

/**
 * Starts an update that a person asks for, or joins the live one. Call inside a transaction. Throws `session_ended`, `not_configured`,
 * `invalid_state`.
 */
export function askForNotes(
  core: Starts & Needs<"endRun">,
  sessionId: string,
  { retryOf = null, ignoreBudget }: NotesRequest,
): { run: RunRecord; joined: boolean } {
  const history = core.memory.session(sessionId);
  history.assertNotEnded();
  mustKeepNotes(core, sessionId);
  const live = core.runs.live(sessionId).find(({ kind }) => kind === "notes");
  if (live !== undefined) return { run: live, joined: true };
  const leafId = history.leafId();
  if (leafId === null) {
    throw new PalimpsestError("invalid_state", `Session "${sessionId}" has no messages yet: there is nothing to note.`);
  }
  const run = startNotes(core, sessionId, { trigger: "manual", leafId, retryOf, ignoreBudget });
  return ignoreBudget ? { run, joined: false } : endIfInVain(core, { run, joined: false }, () => false);
}

/** Call inside a transaction. */
export function startNotes(
  core: Needs<NotesNeeds | "runs" | "settings" | "usage">,
  sessionId: string,
  request: Pick<LiveRun, "trigger" | "leafId"> & Partial<NotesRequest>,
): LiveRun {
  return core.runs.start({
    id: core.platform.newRunId("notes"),
    kind: "notes",
    sessionId,
    trigger: request.trigger,
    leafId: request.leafId,
    leafStep: notesOf(core, core.memory.session(sessionId)).endOf(request.leafId)?.step ?? null,
    notes: null,
    retryOf: request.retryOf ?? null,
    focus: null,
    manual: request.trigger === "manual",
    ignoreBudget: request.ignoreBudget ?? false,
    fresh: false,
    tokensBefore: promptTokens(core, sessionId, request.leafId),
    policy: mustKeepNotes(core, sessionId),
    staleStreak: 0,
  });
}

function mustKeepNotes(core: Needs<"settings">, sessionId: string): Policy {
  const settings = core.settings.get(sessionId);
  if (settings.policy !== null && keptNotes(settings) !== null) return settings.policy;
  throw new PalimpsestError(
    "not_configured",
    `Session "${sessionId}" keeps no notes. Call keepNotes() on it beside compactAfter(tokens), where it is created or in configureSession().`,
  );
}

/** The place behind which growth counts. It is the end of the notes' coverage, or the leaf at which a fruitless update was asked for. */
function findMark(core: Needs<NotesNeeds | "runs">, sessionId: string): NotesEnd | null {
  const last = core.runs.latestOther(sessionId);
  const history = core.memory.session(sessionId);
  if (last?.kind === "notes" && last.outcome.kind !== "noted" && history.has(last.leafId)) {
    return { messageId: last.leafId, step: last.leafStep ?? WHOLE_MESSAGE };
  }
  const covered = notesOf(core, history).current()?.covered;
  return covered?.kind === "to" ? covered : null;
}
