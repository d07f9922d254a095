/**
 * A session that brings its own compaction function (`onCompaction`): called in the agent, off the append's path, and
 * committed through the same fence and ledger as the workflow's summaries. It is not durable inside: after a crash the
 * watchdog calls it again.
 */
import type { Outcome, RunRecord } from "../memory/runs.ts";
import { WHOLE_MESSAGE } from "../steps/outline.ts";
import type { Core } from "./core.ts";
import { finishRun, outcomeOf } from "./finish.ts";
import type { InlineSummary } from "./settings.ts";

export async function runInline(core: Core, pending: RunRecord): Promise<void> {
  const { inline } = core.settings.get(pending.sessionId);
  if (inline === null) return;
  const at = core.platform.now();
  const run = core.runs.change(pending.id, { state: "running", startedAt: at, heardAt: at });
  if (run.outcome !== null) return;
  try {
    const view = core.memory.session(run.sessionId).view(run.leafId);
    const summary = await inline(view.messages);
    core.transaction(() => finishRun(core, run.id, commit(core, run, summary)));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    core.transaction(() => finishRun(core, run.id, { kind: "failed", reason }));
  }
  core.conductor.dispatchPending();
}

function commit(core: Core, run: RunRecord, given: InlineSummary | null): Outcome {
  if (core.runs.mustGet(run.id).outcome !== null) return { kind: "cancelled" };
  if (given === null || given.summary.trim() === "") {
    return { kind: "nothing", reason: "declined", detail: "onCompaction returned no summary." };
  }
  const result = core.memory.session(run.sessionId).addOverlay({
    span: { fromId: given.fromMessageId, fromStep: 0, toId: given.toMessageId, toStep: WHOLE_MESSAGE },
    summary: given.summary,
    runId: run.id,
    details: { model: "onCompaction", degraded: false, trigger: run.trigger, focus: run.focus },
  });
  return outcomeOf(core, run, { result, degraded: false });
}
