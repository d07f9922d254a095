/**
 * The ledger: one record per attempt to compact, from the transaction that asked for it to its one outcome.
 *
 * Job: be the truth about runs. The Workflows engine and the SDK's tracking table are both asked, never believed: a run
 * is live until its outcome stands here. Boundary: knows no workflow, no model and no policy decisions.
 *
 * R1 one outcome: {@link Runs.end} writes it only while the run is live, and answers the outcome that stands.
 * R2 one live run per branch: the caller checks with {@link Runs.live} in the transaction that starts another.
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_LIVE_RUNS, MAX_STEP_RECORDS } from "../limits.ts";
import type { StaleReason } from "./overlays.ts";
import type { Plan, PlanOptions, Policy } from "../steps/plan.ts";
import type { WhyNot } from "../steps/why-not.ts";
import type { Statements } from "./statements.ts";

/** What asked for the run. */
export type Trigger = "threshold" | "manual" | "overflow" | "edit";

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
  /** The messages changed while the model was thinking; nothing was written. */
  | { readonly kind: "stale"; readonly reason: StaleReason }
  | { readonly kind: "nothing"; readonly reason: WhyNot | "declined"; readonly detail: string }
  | { readonly kind: "cancelled" }
  | { readonly kind: "failed"; readonly reason: string };

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
  readonly calls: number;
  /** True when an earlier draft was used again instead of a model call. */
  readonly reused: boolean;
  /** The newest attempt whose model gave no answer; absent while there is none. */
  readonly failure?: StepFailure;
}

export interface StepFailure {
  readonly attempt: number;
  readonly model: string;
  /** The summariser's code: `auth`, `quota`, `network`, … */
  readonly code: string;
  readonly reason: string;
}

export interface RunRecord {
  readonly id: string;
  readonly sessionId: string;
  /** 1 for the session's first run. */
  readonly n: number;
  readonly kind: "compaction" | "split";
  /** Of a split: what the child is to be called, and what the compaction before it came to. */
  readonly split?: { readonly name: string | null; readonly overlayId: string | null } | undefined;
  readonly trigger: Trigger;
  readonly state: RunState;
  readonly focus: string | null;
  /** Skips the soft reasons for doing nothing; never an invariant. */
  readonly force: boolean;
  /** Asks a model anew, also for what an earlier draft covers. */
  readonly fresh: boolean;
  /** `mend`: only what an edit uncovered; `rebuild`: what is covered, from its first drafts. Absent: what is due. */
  readonly only?: PlanOptions["only"];
  /** The leaf whose view the run looks at, and that view's estimate when the run was asked for. */
  readonly leafId: string;
  readonly tokensBefore: number;
  readonly policy: Policy;
  readonly retryOf: string | null;
  /** A person asked although the summariser is down or the budget is spent. */
  readonly insist?: boolean;
  /** Runs just before this one that lost a race with an edit. */
  readonly staleStreak: number;
  /** Runs just before this one that came to nothing for a reason that another try does not cure. */
  readonly fruitless?: number;
  /** How often the watchdog restarted the instance after the engine gave it up. */
  readonly restarts: number;
  /** Absent until a person was asked. */
  readonly approval?: Approval | undefined;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** When a step last called; the watchdog leaves a run alone that was heard lately. */
  readonly heardAt: number | null;
  readonly endedAt: number | null;
  readonly plan: (Plan & { kind: "span" }) | null;
  readonly planDigest: string | null;
  readonly chunkDigests: readonly string[];
  readonly steps: readonly StepRecord[];
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
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
  | "force"
  | "fresh"
  | "only"
  | "leafId"
  | "tokensBefore"
  | "policy"
  | "retryOf"
  | "staleStreak"
  | "insist"
  | "fruitless"
  | "split"
>;

/** Stands where a failure was told in words. */
const FORGOTTEN = "Cleared with what was said.";

export class Runs {
  readonly #sql: Statements;
  readonly #now: () => number;
  readonly #fresh = new Map<string, RunRecord>();
  readonly #ended = new Map<string, RunRecord>();
  readonly #live = new Map<string, readonly RunRecord[]>();
  readonly #latestEnded = new Map<string, RunRecord | null>();

  constructor(sql: Statements, now: () => number) {
    this.#sql = sql;
    this.#now = now;
  }

  /** Writes a new live run. Belongs into the transaction of whatever asked for it. */
  start(run: NewRun): RunRecord {
    const record: RunRecord = {
      ...run,
      n: this.#sql.lastRunNumber(run.sessionId) + 1,
      kind: run.split === undefined ? "compaction" : "split",
      state: "pending",
      createdAt: this.#now(),
      restarts: 0,
      startedAt: null,
      heardAt: null,
      endedAt: null,
      plan: null,
      planDigest: null,
      chunkDigests: [],
      steps: [],
      modelCalls: 0,
      inputTokens: 0,
      outputTokens: 0,
      outcome: null,
      settledTokens: null,
      partial: false,
    };
    this.#sql.insertRun(record.sessionId, record.n, { runId: record.id, record: JSON.stringify(record) });
    this.#live.delete(record.sessionId);
    this.#fresh.set(record.id, record);
    return record;
  }

  /** The runs started since the last call, for whoever starts their instances. */
  takeFresh(): RunRecord[] {
    return takeAll(this.#fresh);
  }

  /** The runs that got their outcome since the last call, for whoever tells of it. */
  takeEnded(): RunRecord[] {
    return takeAll(this.#ended);
  }

  get(runId: string): RunRecord | null {
    return parse(this.#sql.runById(runId));
  }

  /** Throws `unknown_run`. */
  mustGet(runId: string): RunRecord {
    const run = this.get(runId);
    if (run === null)
      throw new PalimpsestError("unknown_run", `There is no run "${runId}". runs() lists those of a session.`);
    return run;
  }

  /** Newest first. `before` is a run's `n`, to page on. */
  list(sessionId: string, options: { limit: number; before?: number }): RunRecord[] {
    return this.#sql
      .runsNewestFirst(sessionId, options.before ?? Number.MAX_SAFE_INTEGER, options.limit)
      .map(mustParse);
  }

  /** The session's newest run that has its outcome. Kept in memory: a trigger over its threshold asks at every append. */
  latestEnded(sessionId: string): RunRecord | null {
    const known = this.#latestEnded.get(sessionId);
    if (known !== undefined) return known;
    const found = this.list(sessionId, { limit: MAX_LIVE_RUNS }).find((run) => run.outcome !== null) ?? null;
    this.#latestEnded.set(sessionId, found);
    return found;
  }

  /** The session's runs without an outcome. Kept in memory, like the one before. */
  live(sessionId: string): readonly RunRecord[] {
    const known = this.#live.get(sessionId);
    if (known !== undefined) return known;
    const found = this.#sql.liveRunsOf(sessionId).map(mustParse);
    this.#live.set(sessionId, found);
    return found;
  }

  /** Every run of every session without an outcome, read from the ledger. */
  allLive(): RunRecord[] {
    return this.#sql.liveRuns().map(mustParse);
  }

  /** Notes what the view came to when a person undid a compaction, so that the trigger does not bring it straight back. */
  settle(sessionId: string, settledTokens: number): void {
    const last = this.latestEnded(sessionId);
    if (last === null) return;
    const settled = { ...last, settledTokens };
    this.#sql.endRun(sessionId, last.n, JSON.stringify(settled));
    this.#latestEnded.set(sessionId, settled);
  }

  /**
   * Takes the words of others out of a session's runs: the focus, and in what words calls and runs failed, which may quote
   * what was said (S2). The counts stay.
   */
  forgetWords(sessionId: string): void {
    for (const run of this.#sql.runsWithWords(sessionId).map(mustParse)) {
      this.#sql.updateRun(sessionId, run.n, JSON.stringify(withoutWords(run)));
    }
    this.forgetSession(sessionId);
  }

  /** Drops what is kept in memory: after a transaction was rolled back, the ledger alone knows. */
  forget(): void {
    this.#fresh.clear();
    this.#ended.clear();
    this.#live.clear();
    this.#latestEnded.clear();
  }

  /** Drops what is kept in memory of a session whose ledger was deleted. Ends that nobody was told of yet stay. */
  forgetSession(sessionId: string): void {
    this.#live.delete(sessionId);
    this.#latestEnded.delete(sessionId);
  }

  /** Changes a live run; a run that has ended is returned as it stands and nothing is written. */
  change(runId: string, patch: Partial<Omit<RunRecord, "id" | "sessionId" | "n" | "outcome">>): RunRecord {
    const run = this.mustGet(runId);
    if (run.outcome !== null) return run;
    const changed = { ...run, ...patch };
    this.#sql.updateRun(run.sessionId, run.n, JSON.stringify(changed));
    const live = this.#live.get(run.sessionId);
    if (live !== undefined)
      this.#live.set(
        run.sessionId,
        live.map((each) => (each.id === runId ? changed : each)),
      );
    return changed;
  }

  /** Gives a run its outcome, once. Returns the run with the outcome that stands. */
  end(runId: string, outcome: Outcome, patch: Partial<RunRecord> = {}): RunRecord {
    const run = this.mustGet(runId);
    if (run.outcome !== null) return run;
    const ended: RunRecord = { ...run, ...patch, state: "ended", outcome, endedAt: this.#now() };
    this.#sql.endRun(run.sessionId, run.n, JSON.stringify(ended));
    this.#live.delete(run.sessionId);
    this.#latestEnded.set(run.sessionId, ended);
    this.#ended.set(runId, ended);
    return ended;
  }
}

function takeAll(runs: Map<string, RunRecord>): RunRecord[] {
  const taken = [...runs.values()];
  runs.clear();
  return taken;
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
    calls: 0,
    reused: false,
  };
  return [...steps, fresh].slice(-MAX_STEP_RECORDS);
}

/** Notes what a step came to. Its costs add up: an attempt that outlived its timeout was paid beside its retry. */
export function closeStep(steps: readonly StepRecord[], name: string, result: Partial<StepRecord>): StepRecord[] {
  const { calls = 0, inputTokens = 0, outputTokens = 0 } = result;
  return steps.map((step) => {
    if (step.name !== name) return step;
    const costs = {
      calls: step.calls + calls,
      inputTokens: step.inputTokens + inputTokens,
      outputTokens: step.outputTokens + outputTokens,
    };
    return { ...step, ...result, ...costs };
  });
}

function withoutWords(run: RunRecord): RunRecord {
  const { steps, outcome } = run;
  return {
    ...run,
    focus: null,
    steps: steps.map((step) =>
      step.failure === undefined ? step : { ...step, failure: { ...step.failure, reason: FORGOTTEN } },
    ),
    outcome: outcome?.kind === "failed" ? { ...outcome, reason: FORGOTTEN } : outcome,
  };
}

function parse(row: { record: string } | undefined): RunRecord | null {
  return row === undefined ? null : mustParse(row);
}

/** The record was written by this file, under this schema version: it is trusted as stored. */
function mustParse(row: { record: string }): RunRecord {
  return JSON.parse(row.record) as RunRecord;
}
