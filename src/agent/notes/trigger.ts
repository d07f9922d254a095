/**
 * Decides whether a session's notes need an update now, and writes the run's ledger row.
 *
 * Runs inside the transaction of each change that grew the session, like src/agent/runs/trigger.ts. With warm caches it reads the newest
 * two messages' rows and writes none. A session has one update at a time, and none during a compaction, which would only wait for it. After
 * a fruitless update, as much growth must come again as before the first.
 */
import { PalimpsestError } from "../../errors.ts";
import { NOTES_PATIENCE } from "../../limits-of-notes.ts";
import type { NotesEnd } from "../../memory/notes/notes.ts";
import type { RunRecord } from "../../memory/runs/runs.ts";
import type { Policy } from "../../steps/plan/policy.ts";
import { isUpdateDue } from "../../steps/notes/due.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { promptTokens } from "../reports/usage.ts";
import type { Core, Needs } from "../core.ts";
import { resolveNotes } from "./settings.ts";
import { findModelObstacle } from "../runs/start/postpone.ts";

/** Call inside a transaction. */
export function startNotesIfDue(core: Core, sessionId: string): RunRecord | null {
  const { notes, policy } = core.settings.get(sessionId);
  if (notes === null || policy === null) return null;
  // A run that waits for a person may wait for a day.
  if (core.runs.live(sessionId).some(({ state }) => state !== "waiting")) return null;
  const history = core.memory.session(sessionId);
  if (history.hasEnded) return null;
  const { pace } = resolveNotes(notes, policy);
  const mark = core.marks.notesMarks.get(sessionId) ?? { after: findMark(core, sessionId), growth: null };
  const enoughTokens = pace.growthTokens * NOTES_PATIENCE;
  const growth = history.notes.growth({ after: mark.after, enoughTokens, known: mark.growth });
  core.marks.notesMarks.set(sessionId, { ...mark, growth });
  const leafId = history.leafId();
  if (growth === null || leafId === null || !isUpdateDue(growth, pace)) return null;
  if (findModelObstacle(core, sessionId) !== null) return null;
  return startNotes(core, sessionId, { trigger: "growth", leafId });
}

export interface NotesRequest {
  readonly retryOf?: string | null;
  /** Asks the model although it is down or the budget is spent. */
  readonly ignoreBudget: boolean;
}

/** Starts an update, or joins the live one. Call inside a transaction. Throws `not_configured`, `session_ended`, `invalid_state`. */
export function startOrJoinNotes(
  core: Needs<"memory" | "platform" | "runs" | "settings" | "usage">,
  sessionId: string,
  { retryOf = null, ignoreBudget }: NotesRequest,
): { run: RunRecord; joined: boolean } {
  const history = core.memory.session(sessionId);
  history.mustGoOn();
  mustKeepNotes(core, sessionId);
  const live = core.runs.live(sessionId).find(({ kind }) => kind === "notes");
  if (live !== undefined) return { run: live, joined: true };
  const leafId = history.leafId();
  if (leafId === null) {
    throw new PalimpsestError("invalid_state", `Session "${sessionId}" has no messages yet: there is nothing to note.`);
  }
  return { run: startNotes(core, sessionId, { trigger: "manual", leafId, retryOf, ignoreBudget }), joined: false };
}

function startNotes(
  core: Needs<"memory" | "platform" | "runs" | "settings" | "usage">,
  sessionId: string,
  request: Pick<RunRecord, "trigger" | "leafId"> & Partial<NotesRequest>,
): RunRecord {
  return core.runs.start({
    id: core.platform.newRunId("notes"),
    kind: "notes",
    sessionId,
    trigger: request.trigger,
    leafId: request.leafId,
    leafStep: core.memory.session(sessionId).notes.endOf(request.leafId)?.step,
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
  const { policy, notes } = core.settings.get(sessionId);
  if (policy !== null && notes !== null) return policy;
  throw new PalimpsestError(
    "not_configured",
    `Session "${sessionId}" keeps no notes. Call keepNotes() on it beside compactAfter(tokens), where it is created or in configureSession().`,
  );
}

/** The place behind which growth counts. It is the end of the notes' coverage, or the leaf at which a fruitless update was asked for. */
function findMark(core: Needs<"memory" | "runs">, sessionId: string): NotesEnd | null {
  const last = core.runs.latestNotes(sessionId);
  const history = core.memory.session(sessionId);
  if (last !== null && last.outcome?.kind !== "noted" && history.has(last.leafId)) {
    return { messageId: last.leafId, step: last.leafStep ?? WHOLE_MESSAGE };
  }
  const covered = history.notes.current()?.covered;
  return covered?.kind === "to" ? covered : null;
}
