/**
 * Events for connected clients. Each is a small, complete picture of a run, sent at every change. It goes to every connection, so it holds
 * words only where clients may read. A missed event loses nothing, because the next one repeats everything.
 */
import {
  type Outcome,
  type RunRecord,
  type RunState,
  type Trigger,
  reasonOf,
  withoutWords,
  withoutWordsIn,
} from "../memory/runs/runs.ts";

/** The `type` of a run event among the messages of a connection. */
export const RUN_EVENT = "palimpsest:run";

/** The picture of a run at one moment, as connected clients are told of it. Each event repeats everything. */
export interface RunEvent {
  readonly type: typeof RUN_EVENT;
  /** The run, by the id that `getRun` takes. */
  readonly runId: string;
  /** The session that it works for. */
  readonly sessionId: string;
  /** The run's number in its session, from 1. */
  readonly n: number;
  /** What it was started by. */
  readonly trigger: Trigger;
  /** Where it stands. `ended` comes with an outcome. */
  readonly state: RunState;
  /** The running step, or the last one. */
  readonly step: string | null;
  /** The attempt of that step, from 1. 0 before the first step. */
  readonly attempt: number;
  /** Steps done, and steps in all, known once the cut is planned. */
  readonly done: number;
  /** At least one more than `done` while the run is live. */
  readonly total: number;
  /** Billed calls of models so far. */
  readonly modelCalls: number;
  /** Tokens that those calls read. */
  readonly inputTokens: number;
  /** Tokens that they wrote. */
  readonly outputTokens: number;
  /** Set once, at the end. */
  readonly outcome: Outcome | null;
  /** Why it ended so, as a code: of `stale`, `nothing` and `failed`. Null otherwise. */
  readonly reason: string | null;
  /** Epoch ms. */
  readonly at: number;
}

export function runEvent(run: RunRecord, at: number): RunEvent {
  const last = run.steps.at(-1);
  // The plan and the commit. A caller's own function, and a text that a room had at hand, are one step each.
  const aroundDrafts = run.path === undefined || run.path === "model" ? 2 : 0;
  const chunks = Math.max(1, run.chunkDigests.length);
  const merge = run.chunkDigests.length > 1 ? 1 : 0;
  const done = run.steps.filter((step) => step.endedAt !== null).length;
  // Repairs, halves and further questions are known only when they come. So a live run always has at least one step to come.
  const total = Math.max(aroundDrafts + chunks + merge, run.steps.length, run.outcome === null ? done + 1 : 0);
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
    reason: reasonOf(run),
    at,
  };
}

/** Stands in place of words for a client that may not read. */
const WITHHELD = 'Only clients that may read are told: clients: ["watch", "read"].';

export function eventWithoutWords(event: RunEvent): RunEvent {
  return event.outcome === null ? event : { ...event, outcome: withoutWordsIn(event.outcome, WITHHELD) };
}

/** A run for a client that may not read, without any words of the conversation or of a request. */
export function runWithoutWords(run: RunRecord): RunRecord {
  const shown = withoutWords(run, WITHHELD);
  return shown.kind === "split" ? { ...shown, childName: null } : shown;
}
