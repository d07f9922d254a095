/**
 * A compaction from notes, which needs no model call.
 *
 * A run tries it before its workflow is started, and its result is the run's outcome like any other. Safe because plan and commit are one
 * synchronous transaction, so nothing can come between. A crash before it leaves the run pending, and the watchdog starts it again (R1).
 */
import { closeStep, markStep, type LiveRun, type WhyModel } from "../memory/runs/runs.ts";
import { readCarried, layOrPropose } from "../agent/runs/commit.ts";
import { conclude, type Concludes } from "../agent/runs/split.ts";
import type { Needs } from "../agent/core.ts";
import { findHelp, findNotes, IS_BEHIND, type NotesVerdict, type ReadyNotes } from "./ready.ts";
import { startNotes, type Starts } from "./trigger.ts";
import { findModelObstacle } from "../agent/runs/trigger.ts";
import { MAX_NOTES_WAIT_MS } from "./limits.ts";
import { keptNotes, resolveNotes } from "./settings.ts";
import type { Carried } from "../memory/overlays/overlay.ts";

/** The one step of such a run in the ledger. */
const STEP = "use the notes";

/** True when the run has its outcome. False when a model is needed, and the run's record says why. */
export async function serveFromNotes(core: Starts & Concludes & Needs<"ended">, pending: LiveRun): Promise<boolean> {
  if (pending.kind === "notes" || keptNotes(core.settings.get(pending.sessionId)) === null) return false;
  const wait = core.db.transaction(() => findWait(core, pending));
  if (wait !== null) await waitFor(core, wait);
  const carried = await readCarried(core, pending.sessionId);
  const ended = core.db.transaction<{ yes: boolean }>(() => {
    const run = core.runs.get(pending.id);
    if (run?.outcome !== null) return { yes: true };
    const verdict = findNotes(core, run, carried);
    if (verdict === null) return { yes: false };
    const why = verdict.kind === "ready" ? commit(core, run, { ...verdict, carried }) : verdict;
    if (why === null) return { yes: true };
    core.runs.change(run.id, { path: "model", whyModel: { reason: why.reason, detail: why.detail } });
    return { yes: false };
  });
  return ended.yes;
}

interface Wait {
  readonly update: LiveRun;
  /** Longest time (ms). */
  readonly waitMs: number;
}

/** The update that the run waits for. Null where none may help. */
function findWait(core: Starts, pending: LiveRun): Wait | null {
  const notes = keptNotes(core.settings.get(pending.sessionId));
  // A run that was sent to the model may be dispatched again. It asks for no other update.
  if (notes === null || pending.path === "model") return null;
  const verdict = findNotes(core, pending);
  const running = findHelp(core, pending, verdict);
  if (running !== null) return { update: running, waitMs: resolveNotes(notes, pending.policy).waitMs };
  const asked = askForHelp(core, pending, verdict);
  return asked === null ? null : { update: asked, waitMs: MAX_NOTES_WAIT_MS };
}

/**
 * An update that reads up to the end of the compaction, where the notes end too early. It takes the one model call that a summary would take,
 * and the next update has less to read. Null where updates come by growth, and where one call cannot read it all.
 */
function askForHelp(core: Starts, run: LiveRun, verdict: NotesVerdict | null): LiveRun | null {
  const { sessionId, leafId } = run;
  const settings = core.settings.get(sessionId);
  const notes = keptNotes(settings);
  if (notes === null || verdict?.kind !== "declined" || !IS_BEHIND.has(verdict.reason)) return null;
  const { compaction } = resolveNotes(notes, run.policy, settings.when?.rule).pace;
  if (compaction === null || run.manual || run.tokensBefore > run.policy.thresholdTokens + compaction.mostTokens)
    return null;
  if (findModelObstacle(core, sessionId) !== null) return null;
  if (core.runs.live(sessionId).some(({ kind }) => kind === "notes")) return null;
  return startNotes(core, sessionId, { trigger: "compaction", leafId });
}

/** Null when the overlay is in force and the run has its outcome. Otherwise nothing was written. */
function commit(
  core: Concludes & Needs<"platform">,
  found: LiveRun,
  ready: ReadyNotes & { readonly carried: readonly Carried[] },
): WhyModel | null {
  const { plan, summary, facts, version, carried } = ready;
  const at = core.platform.now();
  const steps = closeStep(markStep(found.steps, { name: STEP, attempt: 1, at }), STEP, { endedAt: at });
  const run: LiveRun = {
    ...found,
    path: "notes",
    plan,
    planDigest: null,
    steps,
    startedAt: found.startedAt ?? at,
    heardAt: at,
  };
  const lineage = { model: "notes", degraded: false, level: plan.level, generation: 1, notesVersion: version.n };
  const made = { span: plan.span, text: summary, facts, lineage, carried };
  const outcome = layOrPropose(core, run, made);
  if (outcome.kind === "stale") {
    return { reason: outcome.reason, detail: "The notes' summary did not pass the fence of the commit." };
  }
  if (outcome.kind !== "proposed") conclude(core, run, outcome);
  return null;
}

async function waitFor(core: Needs<"ended">, { update, waitMs }: Wait): Promise<void> {
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  await Promise.race([core.ended(update.id), timedOut]).finally(() => clearTimeout(timer));
}
