/**
 * The one way to end a run, for its workflow, a caller's function, a room, a person, a split, or the deletion of its session. It bills
 * what is unanswered, writes one outcome, queues the caller's hook, and looks again for due runs.
 *
 * The hook is called at least once for each run, through any crash. The commit's transaction writes an outbox row, and one transaction removes
 * that row and stores the returned text. Until then the watchdog calls again, a bounded number of times. An attempt is counted before it is
 * made, so one that kills the object counts too. The text is dropped where the overlay would no longer be smaller than its source (V3).
 */
import {
  addToStep,
  type AskedCall,
  type LiveRun,
  type Outcome,
  type RunRecord,
  type EndedRun,
} from "../../memory/runs/runs.ts";
import type { Needs } from "../core.ts";
import { PalimpsestError } from "../../errors.ts";
import { HOOK_TOKENS } from "../../limits.ts";
import { cutSection } from "../../steps/draft/audit.ts";

/** Returns the run with the call on the bill of the run and of a step. Call inside a transaction, and once for each call. */
export function addToBill(
  core: Needs<"platform" | "rooms" | "spend">,
  run: LiveRun,
  step: string,
  call: AskedCall,
): LiveRun {
  const { inputTokens, outputTokens, estimatedTokens } = call.summariser;
  core.spend.add(run.sessionId, inputTokens + outputTokens, core.platform.now());
  core.rooms.counted?.(run.sessionId, call);
  return {
    ...run,
    modelCalls: run.modelCalls + 1,
    inputTokens: run.inputTokens + inputTokens,
    outputTokens: run.outputTokens + outputTokens,
    estimatedTokens: run.estimatedTokens + estimatedTokens,
    steps: addToStep(run.steps, step, { ...call.summariser, calls: 1 }),
  };
}

/**
 * The same by estimate for each call whose answer will not be read, because the run ends or its instance restarts. So a budget holds, whoever
 * does that.
 */
export function billUnanswered(core: Needs<"platform" | "rooms" | "spend">, run: LiveRun): LiveRun {
  const billed = run.steps.reduce(
    (each, { name, asking }) => (asking === undefined ? each : addToBill(core, each, name, asking)),
    run,
  );
  return { ...billed, steps: billed.steps.map((step) => ({ ...step, asking: undefined })) };
}

/** Time limit of that hook (ms) and its number of tries. It may call a service that is down for a minute. */
const HOOK_LIMIT_MS = 60_000;
export const MAX_HOOK_ATTEMPTS = 5;

/** Call inside the transaction that gives the run its outcome. */
export function queueHook(
  core: Needs<"hookOutbox" | "settings">,
  { id, sessionId }: RunRecord,
  outcome: Outcome,
): void {
  if (core.settings.get(sessionId).afterCompaction !== null && overlayOf(outcome) !== null)
    core.hookOutbox.add(id, sessionId);
}

type Tells = Needs<"db" | "hookOutbox" | "memory" | "platform" | "runs" | "settings">;

/** One attempt for a run that has ended. Does nothing while another attempt is running. Never throws. */
export async function tellAfterCompaction(core: Tells, runId: string): Promise<void> {
  if (core.hookOutbox.underWay.has(runId)) return;
  core.hookOutbox.underWay.add(runId);
  try {
    await attempt(core, runId);
  } finally {
    core.hookOutbox.underWay.delete(runId);
  }
}

async function attempt(core: Tells, runId: string): Promise<void> {
  const begun = core.db.transaction(() => begin(core, runId));
  if (begun === null) return;
  const { tell, run, overlay, attempts } = begun;
  const { sessionId } = run;
  try {
    const text = (await inTime(async () => tell({ sessionId, run, overlay }))) ?? "";
    const cut = { pointer: "[…]", countTokens: core.settings.counterOf(sessionId) };
    const added = typeof text === "string" ? cutSection(text.trim().toWellFormed(), HOOK_TOKENS, cut) : "";
    core.db.transaction(() => {
      if (added !== "") core.memory.session(shownIn(run)).overlays.addContext(overlay.id, added);
      core.hookOutbox.remove(runId);
    });
  } catch (error) {
    const again = attempts < MAX_HOOK_ATTEMPTS;
    if (!again) core.db.transaction(() => core.hookOutbox.remove(runId));
    core.platform.hookFailed({ runId, sessionId, attempt: attempts, again });
    const reason = error instanceof Error ? error.message : String(error);
    const report = new PalimpsestError("provider_failed", `onAfterCompaction failed: ${reason}`);
    await (async () => core.settings.get(sessionId).onError?.(report, run))().catch(() => undefined);
  }
}

/** Null when nothing is left to report, or no function is set. The outbox row is then removed. */
function begin(core: Tells, runId: string) {
  const attempts = core.hookOutbox.attempt(runId);
  if (attempts === 0) return null;
  const run = core.runs.get(runId);
  const tell = run === null ? null : core.settings.get(run.sessionId).afterCompaction;
  const overlayId = run?.outcome == null ? null : overlayOf(run.outcome);
  const overlay =
    run === null || overlayId === null ? null : core.memory.session(run.sessionId).overlays.get(overlayId);
  if (run !== null && tell !== null && overlay !== null && attempts <= MAX_HOOK_ATTEMPTS)
    return { tell, run, overlay, attempts };
  core.hookOutbox.remove(runId);
  return null;
}

/** The overlay that a run brought into force. */
function overlayOf(outcome: Outcome): string | null {
  return "overlayId" in outcome ? outcome.overlayId : null;
}

/** The session that shows the overlay, which after a split is the child. */
function shownIn({ sessionId, outcome }: RunRecord): string {
  return outcome?.kind === "split" ? outcome.childId : sessionId;
}

/** A function that hangs must not keep the watchdog awake. */
async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${HOOK_LIMIT_MS} ms`)), HOOK_LIMIT_MS);
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

/** Behind {@link Core.endRun}. */
export function endRun(
  core: Needs<"hookOutbox" | "memory" | "platform" | "rooms" | "runs" | "settings" | "spend" | "trigger">,
  run: LiveRun,
  outcome: Outcome,
): Outcome {
  const at = core.platform.now();
  if (run.state === "proposed") core.memory.session(run.sessionId).overlays.takeProposal(run.id);
  const billed = billUnanswered(core, run);
  const steps = billed.steps.map((step) => (step.endedAt === null ? { ...step, endedAt: at } : step));
  const ended = core.runs.end({ ...billed, steps }, outcome, settledSize(core, run));
  if (ended.outcome !== outcome) return ended.outcome;
  queueHook(core, run, outcome);
  core.trigger.ended(run);
  return outcome;
}

/** The messages of the branch that the run looked at, where its policy counts them. Appends during the run count as growth. */
function settledSize(core: Needs<"memory">, { sessionId, leafId, policy }: LiveRun): Pick<EndedRun, "settledMessages"> {
  if (policy.maxMessages === undefined) return {};
  const history = core.memory.session(sessionId);
  return { settledMessages: history.size(history.has(leafId) ? leafId : null).messages };
}
