/**
 * What connected clients hear: a small, whole picture of a run each time it moves. It goes to every connection, so it holds
 * words only where clients may read; a client that missed one loses nothing, because the next one says everything again.
 */
import type { Outcome, RunRecord, RunState, Trigger } from "../memory/runs/runs.ts";
import { withoutWords, withoutWordsIn } from "../memory/runs/record.ts";

export const RUN_EVENT = "palimpsest:run";

export interface RunEvent {
  readonly type: typeof RUN_EVENT;
  readonly runId: string;
  readonly sessionId: string;
  readonly n: number;
  readonly trigger: Trigger;
  readonly state: RunState;
  /** The step at work, or the last one. */
  readonly step: string | null;
  readonly attempt: number;
  /** Steps done, of how many: known once the cut is planned. */
  readonly done: number;
  readonly total: number;
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Set once, at the end. */
  readonly outcome: Outcome | null;
  /** Epoch ms. */
  readonly at: number;
}

/** Plan and commit: what a workflow does beside its drafts. A split switches to the child as well. */
const FIXED_STEPS = { compaction: 2, split: 3, notes: 2 } as const;

export function runEvent(run: RunRecord, at: number): RunEvent {
  const last = run.steps.at(-1);
  // Notes that serve, and a function of the caller's own, are one step each.
  const fixed = run.path === "function" || run.path === "notes" ? 0 : FIXED_STEPS[run.kind];
  const chunks = Math.max(1, run.chunkDigests.length);
  const merge = run.chunkDigests.length > 1 ? 1 : 0;
  const asked = run.approval == null ? 0 : 1;
  const done = run.steps.filter((step) => step.endedAt !== null).length;
  // Repairs, halves and further questions are known of only when they come: what is not over has at least one step to come.
  const total = Math.max(fixed + chunks + merge + asked, run.steps.length, done + 1);
  return {
    type: RUN_EVENT,
    runId: run.id,
    sessionId: run.sessionId,
    n: run.n,
    trigger: run.trigger,
    state: run.state,
    step: last?.name ?? null,
    attempt: last?.attempts ?? 0,
    done: run.outcome === null ? done : total,
    total,
    modelCalls: run.modelCalls,
    inputTokens: run.inputTokens,
    outputTokens: run.outputTokens,
    outcome: run.outcome,
    at,
  };
}

/** Stands where a client that may not read would be told something in words. */
const UNTOLD = "Only clients that may read are told.";

export function eventWithoutWords(event: RunEvent): RunEvent {
  return { ...event, outcome: withoutWordsIn(event.outcome, UNTOLD) };
}

/** A run as a client sees it that may not read: without a word of what was said or asked. */
export function runWithoutWords(run: RunRecord): RunRecord {
  const shown = withoutWords(run, UNTOLD);
  return shown.split == null ? shown : { ...shown, split: { ...shown.split, name: null } };
}
