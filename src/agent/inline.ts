/**
 * A session that brings its own compaction function (`onCompaction`): called in the agent, off the append's path, and
 * committed through the same fence and ledger as the workflow's summaries. It is not durable inside: after a crash the
 * watchdog calls it again.
 *
 * C3 holds although the function names its range only when it is done: what each element of the view held is noted
 * before it is called, and the digests of a range are a sum of those of its elements.
 */
import type { Outcome, RunRecord } from "../memory/runs.ts";
import { sumDigests } from "../steps/digest.ts";
import type { Span } from "../steps/outline.ts";
import type { Core } from "./core.ts";
import { endRun } from "./end-run.ts";
import { outcomeOf } from "./finish.ts";
import type { InlineSummary } from "./settings.ts";
import { isReadyToSwitch, splitAfter, switchToChild } from "./split.ts";
import { visibleSpan } from "./visible-span.ts";

/** One element of the view, and what it held when the function was shown it. */
interface Shown {
  readonly span: Span;
  readonly digest: string;
}

export async function runInline(core: Core, pending: RunRecord): Promise<void> {
  const { inline } = core.settings.get(pending.sessionId);
  if (inline === null) return;
  const at = core.platform.now();
  const run = core.runs.change(pending.id, { state: "running", startedAt: at, heardAt: at });
  if (run.outcome !== null) return;
  let outcome: () => Outcome;
  try {
    const history = core.memory.session(run.sessionId);
    const { messages } = history.view(run.leafId);
    const shown = messages.map(({ id }): Shown => {
      const span = visibleSpan(history, id, id);
      return { span, digest: history.spanDigest(span)?.digest ?? "" };
    });
    const summary = await inline(messages);
    outcome = () => commit(core, run, { summary, shown });
  } catch (error) {
    outcome = () => failure(error);
  }
  end(core, run, outcome);
}

/** A commit that throws was rolled back whole, so the failure gets a transaction of its own. */
function end(core: Core, run: RunRecord, outcome: () => Outcome): void {
  const finish = (decide: () => Outcome): void =>
    core.transaction(() => {
      // Somebody else may have ended the run meanwhile, or deleted it with its session.
      const live = core.runs.get(run.id);
      if (live?.outcome !== null) return;
      const outcome = decide();
      if (!isReadyToSwitch(live, outcome)) endRun(core, live, outcome);
      else endRun(core, live, switchToChild(core, { ...live, split: splitAfter(live, outcome) }));
    });
  try {
    finish(outcome);
  } catch (error) {
    finish(() => failure(error));
  }
}

function commit(
  core: Core,
  run: RunRecord,
  { summary: given, shown }: { summary: InlineSummary | null; shown: readonly Shown[] },
): Outcome {
  if (given === null || given.summary.trim() === "") {
    return { kind: "nothing", reason: "declined", detail: "onCompaction returned no summary." };
  }
  const history = core.memory.session(run.sessionId);
  const span = visibleSpan(history, given.fromMessageId, given.toMessageId);
  const digest = digestOf(shown, span);
  const result = history.addOverlay({
    span,
    summary: given.summary,
    runId: run.id,
    details: {
      model: "onCompaction",
      trigger: run.trigger,
      focus: run.focus,
    },
    pinnedTokens: run.policy.pinnedTokens,
    ...(digest === null ? {} : { digest }),
  });
  return outcomeOf(core, run, {
    result,
    degraded: false,
    score: result.kind === "stale" ? null : (result.overlay.details.survival?.score ?? null),
  });
}

/** What the range held when it was shown; null when the view did not show it, and the fence will say what is wrong. */
function digestOf(shown: readonly Shown[], { fromId, fromStep, toId, toStep }: Span): string | null {
  const from = shown.findIndex(({ span }) => span.fromId === fromId && span.fromStep === fromStep);
  const to = shown.findIndex(({ span }) => span.toId === toId && span.toStep === toStep);
  return from === -1 || to < from ? null : sumDigests(shown.slice(from, to + 1).map(({ digest }) => digest));
}

function failure(error: unknown): Outcome {
  return { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
}
