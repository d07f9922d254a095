/**
 * Whether a session's active branch should be compacted now, and the ledger row that says so.
 *
 * Runs inside the transaction of whatever grew the view, so there is no moment at which a message is stored and its run
 * is not. Warm it costs no row while the view is under the threshold; it reads no content and calls nothing outside.
 * Hysteresis: after a run, the view must have grown by a span worth a model call before another is asked for, whatever
 * the first one came to. Only a run that lost a race (`stale`) may be followed at once, and only a few times in a row:
 * whatever keeps changing the same messages will still be at it.
 */
import type { RunRecord, Trigger } from "../memory/runs.ts";
import type { Core } from "./core.ts";
import type { Policy } from "../steps/plan.ts";
import { promptTokens } from "./calibration.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_STALE_STREAK } from "../limits.ts";

export interface RunRequest {
  readonly trigger: Trigger;
  readonly leafId: string;
  readonly focus?: string | null;
  readonly force?: boolean;
  readonly fresh?: boolean;
  readonly retryOf?: string | null;
}

/**
 * Starts a run when the threshold is crossed and none is at work on this branch (R2). Call inside a transaction.
 * `continues` is the leaf that the active one was just appended to, where the caller knows.
 */
export function triggerIfDue(core: Core, sessionId: string, continues: string | null = null): RunRecord | null {
  const { policy } = core.settings.get(sessionId);
  if (policy === null) return null;
  const tokens = promptTokens(core, sessionId);
  if (tokens <= policy.thresholdTokens) return null;
  const leafId = core.memory.session(sessionId).leafId();
  if (leafId === null || liveOnBranch(core, sessionId, { leafId, continues }) !== null) return null;
  if (tokens <= quietUpTo(core.runs.latestEnded(sessionId), policy)) return null;
  return startRun(core, sessionId, { trigger: "threshold", leafId });
}

/** Starts a run, or returns the one that is at work on this branch. Call inside a transaction. */
export function startOrJoin(core: Core, sessionId: string, request: RunRequest): { run: RunRecord; joined: boolean } {
  const live = liveOnBranch(core, sessionId, { leafId: request.leafId, continues: null });
  if (live !== null) return { run: live, joined: true };
  return { run: startRun(core, sessionId, request), joined: false };
}

function startRun(core: Core, sessionId: string, request: RunRequest): RunRecord {
  const { policy } = core.settings.get(sessionId);
  if (policy === null) {
    throw new PalimpsestError(
      "not_configured",
      `Session "${sessionId}" has no compaction policy. Call compactAfter(tokens) on it, where it is created or in configureSession().`,
    );
  }
  const last = core.runs.latestEnded(sessionId);
  return core.runs.start({
    id: core.platform.newId(),
    sessionId,
    trigger: request.trigger,
    focus: request.focus ?? null,
    force: request.force ?? false,
    fresh: request.fresh ?? false,
    leafId: request.leafId,
    tokensBefore: promptTokens(core, sessionId, request.leafId),
    policy,
    retryOf: request.retryOf ?? null,
    staleStreak: last?.outcome?.kind === "stale" ? last.staleStreak + 1 : 0,
  });
}

/** The live run whose branch this leaf continues, if any: its leaf is on the path of this one, or the reverse. */
function liveOnBranch(
  core: Core,
  sessionId: string,
  { leafId, continues }: { leafId: string; continues: string | null },
): RunRecord | null {
  const history = core.memory.session(sessionId);
  for (const run of core.runs.live(sessionId)) {
    const known = core.branchLeaf.get(run.id) ?? run.leafId;
    const same = known === leafId || (continues !== null && known === continues);
    // A leaf that was deleted does not tell which branch it was on: then any is taken to be this one.
    if (
      !same &&
      history.has(run.leafId) &&
      !history.isOnPath(run.leafId, leafId) &&
      !history.isOnPath(leafId, run.leafId)
    )
      continue;
    core.branchLeaf.set(run.id, leafId);
    return run;
  }
  return null;
}

/** The view's size up to which a finished run keeps the trigger quiet. */
function quietUpTo(last: RunRecord | null, policy: Policy): number {
  if (last?.outcome == null) return 0;
  if (last.settledTokens !== null) return last.settledTokens + policy.minSpanTokens;
  // The plan covered all that fitted into an outline; what is left is not growth but the rest of the backlog.
  const lostRaces = last.outcome.kind === "stale" ? last.staleStreak + 1 : 0;
  if (last.partial || (lostRaces > 0 && lostRaces <= MAX_STALE_STREAK)) return 0;
  // What was appended while the run was at work is growth already: measure from the view that the run looked at.
  const { outcome } = last;
  const settled = outcome.kind === "applied" || outcome.kind === "rebased" ? outcome.tokensAfter : last.tokensBefore;
  return settled + policy.minSpanTokens;
}
