/**
 * What the ledger says of one run: what asked for it, what it works with, its steps and its one outcome.
 *
 * Boundary: shapes, and how a step is noted in them; runs.ts stores them. Plain JSON, so that a record is one column.
 */
import { assert } from "../../errors.ts";
import type { AuditProblemKind } from "../../steps/draft/audit.ts";
import type { Span } from "../../steps/plan/outline.ts";
import type { NothingReason, PlanOptions, Policy, SpanPlan } from "../../steps/plan/plan.ts";
import type { WhyNot } from "../../steps/decide/why-not.ts";
import type { StaleReason } from "../overlays/overlays.ts";

/** Steps kept in a run's ledger row: a row must stay far under 2 MB whatever a run does. */
const MAX_STEP_RECORDS = 500;

/** What asked for the run. */
export type Trigger = "threshold" | "manual" | "overflow" | "edit" | "growth";

/** Exactly one of these ends a run. */
export type Outcome =
  /** The overlay is in force. `degraded` when no model's summary passed and the deterministic digest stands in. */
  | {
      readonly kind: "applied";
      readonly overlayId: string;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly degraded: boolean;
      /** Share of the span's facts that summary and pinned facts keep, 0 to 1; null when nobody measured. */
      readonly score: number | null;
    }
  /** As applied, over overlays that changed meanwhile while the messages did not. */
  | {
      readonly kind: "rebased";
      readonly overlayId: string;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly degraded: boolean;
      /** Share of the span's facts that summary and pinned facts keep, 0 to 1; null when nobody measured. */
      readonly score: number | null;
    }
  /** The session has ended, and goes on in the child. `overlayId` is of the overlay that this run laid first, if any. */
  | {
      readonly kind: "split";
      readonly childId: string;
      readonly overlayId: string | null;
      readonly tokensBefore: number;
      /** Of the child's view. */
      readonly tokensAfter: number;
    }
  /** A new version of the notes, which cover the branch up to a message. `score`: share of its facts that they keep. */
  | {
      readonly kind: "noted";
      readonly version: number;
      readonly coveredId: string;
      readonly tokens: number;
      readonly score: number;
    }
  /** The messages changed while the model was thinking; nothing was written. */
  | { readonly kind: "stale"; readonly reason: StaleReason }
  | { readonly kind: "nothing"; readonly reason: WhyNot | "declined"; readonly detail: string }
  | { readonly kind: "cancelled" }
  /** `code` says what went wrong with a caller's own function; the reason is for people. */
  | { readonly kind: "failed"; readonly reason: string; readonly code?: FailureCode };

/**
 * How a caller's own compaction function failed: its time was over, its object died again and again, it threw, what it
 * returned is no summary of what it was shown, or the audit refused the text. `agent-gone`: the sub-agent was deleted, with its
 * ledger; its Workflow alone says so.
 */
export type FailureCode = "timed-out" | "interrupted" | "threw" | "invalid-answer" | "unsound" | "agent-gone";

export type RunState = "pending" | "running" | "paused" | "waiting" | "ended";

/** A draft that a person is asked about. Times in epoch ms. */
export interface Approval {
  readonly key: string;
  readonly askedAt: number;
  readonly expiresAt: number;
  /** What silence means once the time is over. */
  readonly onTimeout: "apply" | "discard";
  /** The draft that was approved: `key`, or that of a person's own text. Null until then. */
  readonly approvedKey: string | null;
}

/** One step of a run as the ledger saw it. Times in epoch ms. */
export interface StepRecord {
  readonly name: string;
  readonly attempts: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** How much of these tokens is our estimate, because no provider reported them. */
  readonly estimatedTokens: number;
  readonly calls: number;
  /** How long (ms) a model was asked in vain: once a step's limit is reached, it is asked no more. */
  readonly askedMs: number;
  /** The answers that these costs are made of, by name. */
  readonly billed?: readonly string[];
  /** True when an earlier draft was used again instead of a model call. */
  readonly reused: boolean;
  /** The newest attempt whose model gave no answer; absent while there is none. */
  readonly failure?: StepFailure;
  /** What the audit said of the newest draft that the step stored or found: as what it was asked for, and as the whole summary. */
  readonly verdict?: Verdict;
  /** The answer that an audit refused, why, and the key under which a sound one belongs: the step does not ask for it twice. */
  readonly refused?:
    | { readonly key: string; readonly soundKey: string; readonly problems: readonly AuditProblemKind[] }
    | undefined;
}

export interface Verdict {
  readonly tokens: number;
  /** Share of the facts of its source that it keeps, 0 to 1. */
  readonly score: number;
  readonly problems: readonly AuditProblemKind[];
  /** What keeps it from being the summary of the whole span. */
  readonly unfit: readonly AuditProblemKind[];
}

export interface StepFailure {
  readonly attempt: number;
  readonly model: string;
  /** The summariser's code: `auth`, `quota`, `network`, … */
  readonly code: string;
  readonly reason: string;
}

/** Why a summary was asked of a model although notes are kept. */
export interface WhyModel {
  readonly reason:
    | "no-notes"
    | "too-recent"
    | "asked-otherwise"
    | "approval"
    | "unsound"
    | "lost-too-much"
    | "over-threshold"
    | NothingReason
    | StaleReason;
  readonly detail: string;
}

export interface RunRecord {
  readonly id: string;
  readonly sessionId: string;
  /** 1 for the session's first run. */
  readonly n: number;
  readonly kind: "compaction" | "split" | "notes";
  /** Where the summary comes from, once that is decided: notes, the caller's own function, or a model of the workflow. */
  readonly path?: "notes" | "model" | "function" | undefined;
  readonly whyModel?: WhyModel | undefined;
  /** Of an update of notes: the versions that stood when it was planned, and what it reads. */
  readonly notes?:
    | { readonly baseN: number; readonly lastN: number; readonly span: Span; readonly digest: string }
    | undefined;
  /** Of a split: what the child is to be called, and what the compaction before it came to. */
  readonly split?: { readonly name: string | null; readonly overlayId: string | null } | undefined;
  readonly trigger: Trigger;
  readonly state: RunState;
  readonly focus: string | null;
  /** Skips the soft reasons for doing nothing; never an invariant. */
  readonly manual: boolean;
  /** Asks a model anew, also for what an earlier draft covers. */
  readonly fresh: boolean;
  /** `mend`: only what an edit uncovered; `rebuild`: what is covered, from its first drafts. Absent: what is due. */
  readonly only?: PlanOptions["only"];
  /** The leaf whose view the run looks at, and that view's estimate when the run was asked for, or messages were deleted since. */
  readonly leafId: string;
  /** Of an update of notes: the leaf's last step when it was asked for. */
  readonly leafStep?: number | undefined;
  readonly tokensBefore: number;
  readonly policy: Policy;
  readonly retryOf: string | null;
  /** A person asked although the summariser is down or the budget is spent. */
  readonly ignoreBudget?: boolean;
  /** Runs just before this one that lost a race with an edit. */
  readonly staleStreak: number;
  /** Runs just before this one that came to nothing for a reason that another try does not cure. */
  readonly fruitless?: number;
  /** An edit uncovered something while the run was at work: it is looked at again when the run ends. */
  readonly mendAfter?: boolean;
  /** How often the watchdog restarted the instance after the engine gave it up. */
  readonly restarts: number;
  /** Absent until a person was asked. */
  readonly approval?: Approval | undefined;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** When a step last called; the watchdog leaves a run alone that was heard lately. */
  readonly heardAt: number | null;
  readonly endedAt: number | null;
  readonly plan: SpanPlan | null;
  readonly planDigest: string | null;
  readonly chunkDigests: readonly string[];
  readonly steps: readonly StepRecord[];
  /** Calls that are on the bill, with what they cost: also those whose answer was of no use. */
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** How much of these tokens is our estimate, because no provider reported them. */
  readonly estimatedTokens: number;
  readonly outcome: Outcome | null;
  /** The view's estimate after a person undid this run: what must be outgrown before another is asked for. */
  readonly settledTokens: number | null;
  /** True when the view was longer than one outline and the plan covers only its oldest part. */
  readonly partial: boolean;
}

export type NewRun = Pick<
  RunRecord,
  | "id"
  | "sessionId"
  | "trigger"
  | "focus"
  | "manual"
  | "fresh"
  | "only"
  | "leafId"
  | "leafStep"
  | "tokensBefore"
  | "policy"
  | "retryOf"
  | "staleStreak"
  | "ignoreBudget"
  | "fruitless"
  | "split"
> & { readonly kind?: "notes" };

export function planOf(run: RunRecord): SpanPlan {
  assert(run.plan !== null, "The plan is recorded before any step that needs it.");
  return run.plan;
}

/** Notes that attempt `attempt` of a step began; a step already there counts its attempts. */
export function markStep(
  steps: readonly StepRecord[],
  mark: { name: string; attempt: number; at: number },
): StepRecord[] {
  const index = steps.findIndex((step) => step.name === mark.name);
  const known = steps[index];
  if (known !== undefined) return steps.with(index, { ...known, attempts: Math.max(known.attempts, mark.attempt) });
  const fresh: StepRecord = {
    name: mark.name,
    attempts: mark.attempt,
    startedAt: mark.at,
    endedAt: null,
    inputTokens: 0,
    outputTokens: 0,
    estimatedTokens: 0,
    calls: 0,
    askedMs: 0,
    reused: false,
  };
  return [...steps, fresh].slice(-MAX_STEP_RECORDS);
}

/** Notes what a step came to. Its costs add up: an attempt that outlived its timeout was paid beside its retry. */
export function closeStep(steps: readonly StepRecord[], name: string, result: Partial<StepRecord>): StepRecord[] {
  const { calls = 0, inputTokens = 0, outputTokens = 0, estimatedTokens = 0, askedMs = 0 } = result;
  return steps.map((step) => {
    if (step.name !== name) return step;
    const costs = {
      calls: step.calls + calls,
      inputTokens: step.inputTokens + inputTokens,
      outputTokens: step.outputTokens + outputTokens,
      estimatedTokens: step.estimatedTokens + estimatedTokens,
      askedMs: step.askedMs + askedMs,
    };
    return { ...step, ...result, ...costs };
  });
}

/**
 * A run without what persons and providers wrote into it, which may quote what was said. `instead` stands where something was
 * told in words.
 */
export function withoutWords(run: RunRecord, instead: string): RunRecord {
  const { steps, whyModel } = run;
  return {
    ...run,
    focus: null,
    steps: steps.map((step) =>
      step.failure === undefined ? step : { ...step, failure: { ...step.failure, reason: instead } },
    ),
    outcome: withoutWordsIn(run.outcome, instead),
    ...(whyModel === undefined ? {} : { whyModel: { ...whyModel, detail: instead } }),
  };
}

/** What a provider or the person who declined wrote may quote what was said. */
export function withoutWordsIn(outcome: Outcome | null, instead: string): Outcome | null {
  if (outcome?.kind === "failed") return { ...outcome, reason: instead };
  return outcome?.kind === "nothing" && outcome.reason === "declined" ? { ...outcome, detail: instead } : outcome;
}
