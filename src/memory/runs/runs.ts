/**
 * The ledger: one record per attempt to compact, from the transaction that asked for it to its one outcome. A record is plain JSON, so that
 * it fits one column.
 *
 * The ledger is the truth about runs. A run is live until its outcome is recorded here, even if the Workflows engine
 * reports another state. This module knows no workflow and no model. It stores a run's policy and does not read it.
 *
 * R1: {@link Runs.end} writes an outcome only while the run is live, and returns the outcome that is recorded. R2: one
 * live compaction per branch. The caller checks {@link Runs.live} in the transaction that starts another run.
 */
import { PalimpsestError, assert } from "../../errors.ts";
import type { Binding, Db } from "../db.ts";
import type { CallCost } from "../../model/summarize.ts";
import type { AuditProblemKind } from "../../steps/draft/audit.ts";
import type { Span } from "../../steps/plan/outline.ts";
import type { PlanOptions, Policy, SpanPlan } from "../../steps/plan/plan.ts";
import type { NothingReason, WhyNot } from "../../steps/decide/decide.ts";
import type { StaleReason } from "../overlays/overlays.ts";

/** The most steps kept in a run's record, so that its row stays far under 2 MB. */
const MAX_STEP_RECORDS = 500;

/** The cause of the run. */
export type Trigger = "threshold" | "messages" | "rent" | "manual" | "overflow" | "edit" | "growth" | "compaction";

/** A run ends with exactly one of these. */
export type Outcome =
  /**
   * The overlay is in force. `degraded` when no model's summary passed the audit and an extractive summary replaces
   * it. `rebased` when other overlays than planned lie over the same messages now, and otherwise absent.
   */
  | {
      readonly kind: "applied";
      readonly overlayId: string;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly degraded: boolean;
      readonly rebased?: true;
    }
  /**
   * The session has ended and continues in the child. `overlayId` is the overlay that this run added before the split,
   * if any.
   */
  | {
      readonly kind: "split";
      readonly childId: string;
      readonly overlayId: string | null;
      readonly tokensBefore: number;
      /** Tokens of the child's view. */
      readonly tokensAfter: number;
    }
  /** A new version of the notes covers the branch up to a message. */
  | {
      readonly kind: "noted";
      readonly version: number;
      readonly coveredId: string;
      readonly tokens: number;
    }
  /** The messages changed while the model worked. Nothing was written. */
  | { readonly kind: "stale"; readonly reason: StaleReason }
  | { readonly kind: "nothing"; readonly reason: WhyNot | "declined"; readonly detail: string }
  | { readonly kind: "cancelled" }
  /** `code` says how a caller's own function failed, or that the agent lacks something. The reason is for people. */
  | { readonly kind: "failed"; readonly reason: string; readonly code?: FailureCode };

/**
 * How a caller's own compaction function failed, and what keeps any run from its start:
 * - `timed-out`: it ran out of time.
 * - `interrupted`: its object died again and again.
 * - `threw`: it threw an error.
 * - `invalid-answer`: its return value is not a summary of the messages it was shown.
 * - `unsound`: the audit refused its text.
 * - `agent-gone`: the sub-agent was deleted with its ledger. Only its Workflow reports this code.
 * - `not-configured`: a binding is missing, such as the Workflow's. Every client is told the reason.
 */
export type FailureCode =
  | "timed-out"
  | "interrupted"
  | "threw"
  | "invalid-answer"
  | "unsound"
  | "agent-gone"
  | "not-configured";

/** How the work of a run ended for its Workflow. A proposal has its outcome once a person has decided. */
export type Finished = Outcome | { readonly kind: "proposed"; readonly overlayId: string };

/**
 * A run's place in its life: `pending`, `running`, `paused`, `proposed` when all its work is done and a person decides, or `ended` with an
 * outcome.
 */
export type RunState = RunRecord["state"];

/** One step of a run as the ledger recorded it. Times in epoch ms. */
export interface StepRecord {
  /** The name of the step, such as `plan the cut`. */
  readonly name: string;
  /** Attempts so far, the first included. */
  readonly attempts: number;
  /** When its first attempt began. */
  readonly startedAt: number;
  /** When it was done. Null while it is not. */
  readonly endedAt: number | null;
  /** Tokens that the models of its billed calls read. */
  readonly inputTokens: number;
  /** Tokens that they wrote. */
  readonly outputTokens: number;
  /** The part of the input that providers read from their prompt cache. Absent where they reported none. */
  readonly cachedTokens?: number;
  /** The part that they wrote there. Absent where they reported none. */
  readonly writtenTokens?: number;
  /** The part of these tokens that we estimated because no provider reported them. */
  readonly estimatedTokens: number;
  /** Billed calls, those whose answer was not used included. */
  readonly calls: number;
  /** Time spent on calls without an answer (ms). At the step's limit the model is asked no more. */
  readonly askedMs: number;
  /** The names of the answers that these costs include. */
  readonly billed?: readonly string[];
  /** The call that a model is answering, by estimate. A run that ends before the answer is billed for it. Absent while none is asked. */
  readonly asking?: (AskedCall & { readonly attempt: number }) | undefined;
  /** True when a stored draft replaced a model call. */
  readonly reused: boolean;
  /** The newest attempt without an answer from the model. Absent while there is none. */
  readonly failure?: StepFailure;
  /**
   * The audit's verdict on the newest draft that the step stored or found, both for its own source and as the whole
   * summary.
   */
  readonly verdict?: Verdict;
  /** An answer that the audit refused, with the problems and the key of a sound draft. The step does not ask for it again. */
  readonly refused?:
    | { readonly key: string; readonly soundKey: string; readonly problems: readonly AuditProblemKind[] }
    | undefined;
}

/** A call of a model, with its tokens. */
export interface AskedCall {
  readonly model: string;
  readonly summariser: CallCost;
}

export interface Verdict {
  readonly tokens: number;
  readonly problems: readonly AuditProblemKind[];
  /** The problems that keep it from being the summary of the whole span. */
  readonly unfit: readonly AuditProblemKind[];
}

export interface StepFailure {
  readonly attempt: number;
  /** The number of attempts in which the model failed. Attempts that did not reach the agent do not count. */
  readonly count: number;
  readonly model: string;
  /** The summariser's code, such as `auth`, `quota` or `network`. */
  readonly code: string;
  readonly reason: string;
}

/** Why a model was asked for a summary although the session keeps notes. */
export interface WhyModel {
  readonly reason:
    | "no-notes"
    | "too-recent"
    | "asked-otherwise"
    | "unsound"
    | "over-threshold"
    | NothingReason
    | StaleReason;
  readonly detail: string;
}

/** What was asked for. It does not change, except that a delete may lower {@link tokensBefore}. */
interface RequestedRun {
  readonly id: string;
  readonly sessionId: string;
  readonly trigger: Trigger;
  readonly focus: string | null;
  /** Skips the soft reasons for doing nothing, but never an invariant. */
  readonly manual: boolean;
  /** Asks a model anew, even where an earlier draft exists. */
  readonly fresh: boolean;
  /**
   * `mend` repairs only gaps left by an edit. `rebuild` redoes the covered part from its first drafts. Absent for the
   * part that is due.
   */
  readonly only?: PlanOptions["only"];
  /**
   * The leaf whose view the run compacts. {@link tokensBefore} is that view's estimate when the run was asked for, or
   * after a later delete.
   */
  readonly leafId: string;
  readonly tokensBefore: number;
  readonly policy: Policy;
  readonly retryOf: string | null;
  /** Set when a person asked although the breaker is open or the budget is spent. */
  readonly ignoreBudget?: boolean;
  /** The number of runs just before this one that lost a race with an edit. */
  readonly staleStreak: number;
  /** The number of runs just before this one that failed for a reason that another try does not cure. */
  readonly fruitless?: number;
}

/** What a run's work left in its record so far. */
interface WorkedRun {
  /** The session's first run is 1. */
  readonly n: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  /** The source of the summary, once decided: notes, the caller's own function, or a model asked by the workflow. */
  readonly path?: "notes" | "model" | "function" | undefined;
  readonly whyModel?: WhyModel | undefined;
  /** How often the watchdog restarted the workflow instance after the engine gave it up. */
  readonly restarts: number;
  readonly plan: SpanPlan | null;
  readonly planDigest: string | null;
  readonly chunkDigests: readonly string[];
  /** True when the view was longer than one outline, so the plan covers only its oldest part. */
  readonly partial: boolean;
  readonly steps: readonly StepRecord[];
  /** The number of billed calls, including those whose answer was not used. */
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The part of these tokens that we estimated because no provider reported them. */
  readonly estimatedTokens: number;
}

/** What only runs of one kind have. */
type RunKind =
  | { readonly kind: "compaction" }
  /** `childName` is null where none was given. */
  | { readonly kind: "split"; readonly childName: string | null }
  /** `leafStep` is the leaf's last step when the run was asked for. `notes` is null until the update is planned. */
  | { readonly kind: "notes"; readonly leafStep: number | null; readonly notes: NotesPlan | null };

/** An update of notes: the version it is based on, the newest version at planning time, and the span that it reads. */
export interface NotesPlan {
  readonly baseN: number;
  readonly lastN: number;
  readonly span: Span;
  readonly digest: string;
}

interface AtWork {
  readonly state: "pending" | "running" | "paused" | "proposed";
  readonly outcome: null;
  readonly endedAt: null;
  /** When a step last called. The watchdog leaves a run alone that called recently. */
  readonly heardAt: number | null;
  /** Set when an edit uncovered messages while the run worked. The session is checked again when the run ends. */
  readonly mendAfter?: boolean;
}

interface Ended {
  readonly state: "ended";
  readonly outcome: Outcome;
  readonly endedAt: number;
  /** The view's estimate after a person undid this run. The view must outgrow it before another run is asked for. */
  readonly settledTokens: number | null;
  /** The messages of its branch's view when it ended, or after a person undid it. Absent where only tokens count. */
  readonly settledMessages?: number;
}

/** A run without an outcome. */
export type LiveRun = RequestedRun & WorkedRun & RunKind & AtWork;

/** A run with its outcome. */
export type EndedRun = RequestedRun & WorkedRun & RunKind & Ended;

/** `outcome` and `state` tell which of the two it is. */
export type RunRecord = LiveRun | EndedRun;

export type NewRun = RequestedRun & RunKind;

/** A live run that ends its session. */
export type LiveSplit = Extract<LiveRun, { kind: "split" }>;

/** What may change in the record of a live run. */
export type RunPatch = Partial<
  Omit<WorkedRun, "n" | "createdAt"> &
    Omit<AtWork, "outcome" | "endedAt"> &
    Pick<RequestedRun, "tokensBefore"> & { readonly notes: NotesPlan }
>;

/** Whether a run makes a summary come into force. Others are a room's own. */
export function isCompaction({ kind }: Pick<RunRecord, "kind">): boolean {
  return kind === "compaction" || kind === "split";
}

export function planOf(run: RunRecord): SpanPlan {
  assert(run.plan !== null, "The plan is recorded before any step that needs it.");
  return run.plan;
}

/**
 * Why a run ended as it did, as a code: of `stale`, `nothing` and `failed`, and null for other ends. The words of a failure may quote the
 * prompt, so it is told by its code, or by that of the last call without an answer.
 */
export function reasonOf({ outcome, steps }: Pick<RunRecord, "outcome" | "steps">): string | null {
  if (outcome?.kind === "stale" || outcome?.kind === "nothing") return outcome.reason;
  if (outcome?.kind !== "failed") return null;
  return outcome.code ?? steps.findLast(({ failure }) => failure !== undefined)?.failure?.code ?? null;
}

/** Records that attempt `attempt` of a step began. For a known step it raises the attempt count. */
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

/** Records a step's result. Costs add up, because an attempt that outlived its timeout is billed beside its retry. */
export function addToStep(steps: readonly StepRecord[], name: string, result: Partial<StepRecord>): StepRecord[] {
  const { calls = 0, inputTokens = 0, outputTokens = 0, estimatedTokens = 0, askedMs = 0 } = result;
  const { cachedTokens = 0, writtenTokens = 0 } = result;
  return steps.map((step) => {
    if (step.name !== name) return step;
    const costs = {
      calls: step.calls + calls,
      inputTokens: step.inputTokens + inputTokens,
      outputTokens: step.outputTokens + outputTokens,
      estimatedTokens: step.estimatedTokens + estimatedTokens,
      askedMs: step.askedMs + askedMs,
      ...(cachedTokens > 0 && { cachedTokens: (step.cachedTokens ?? 0) + cachedTokens }),
      ...(writtenTokens > 0 && { writtenTokens: (step.writtenTokens ?? 0) + writtenTokens }),
    };
    return { ...step, ...result, ...costs };
  });
}

/**
 * A run without texts written by persons and providers, which may quote the conversation. `instead` replaces each text
 * that must not be empty.
 */
export function withoutWords(run: RunRecord, instead: string): RunRecord {
  const { steps, whyModel } = run;
  const plain = {
    focus: null,
    steps: steps.map((step) =>
      step.failure === undefined ? step : { ...step, failure: { ...step.failure, reason: instead } },
    ),
    ...(whyModel === undefined ? {} : { whyModel: { ...whyModel, detail: instead } }),
  };
  return run.outcome === null
    ? { ...run, ...plain }
    : { ...run, ...plain, outcome: withoutWordsIn(run.outcome, instead) };
}

/** A provider's error, or the words of a person who declined, may quote the conversation. */
export function withoutWordsIn<Ended extends Finished>(outcome: Ended, instead: string): Ended {
  // What an agent lacks is said in words of ours alone.
  if (outcome.kind === "failed") return outcome.code === "not-configured" ? outcome : { ...outcome, reason: instead };
  return outcome.kind === "nothing" && outcome.reason === "declined" ? { ...outcome, detail: instead } : outcome;
}

/** The most runs that are searched for the newest one of a kind. A room's own runs may be far more frequent. */
const MOST_SEARCHED = 200;

/** Replaces the text of a failure. */
const FORGOTTEN = "Cleared with what was said.";

export interface RunsOptions {
  readonly now: () => number;
  /** Called after the transaction that started a run commits. */
  readonly started: (run: LiveRun) => void;
  /** Called after the transaction that left a run's summary to a person commits. */
  readonly proposed: (run: LiveRun) => void;
  /** Called after the transaction that ended a run commits, once for each run. */
  readonly ended: (run: EndedRun) => void;
}

export class Runs {
  readonly #db: Db;
  readonly #options: RunsOptions;
  readonly #live: Map<string, readonly LiveRun[]>;
  /** Live runs by id, because each call of a run's workflow asks for its own run. */
  readonly #known = new Map<string, LiveRun>();
  readonly #latestEnded: Map<string, EndedRun | null>;
  readonly #latestOther: Map<string, EndedRun | null>;

  constructor(db: Db, options: RunsOptions) {
    this.#db = db;
    this.#options = options;
    this.#live = db.cached(new Map());
    db.cached({
      clear: () => this.#known.clear(),
      delete: (sessionId) => {
        for (const run of this.#known.values()) if (run.sessionId === sessionId) this.#known.delete(run.id);
      },
    });
    this.#latestEnded = db.cached(new Map());
    this.#latestOther = db.cached(new Map());
  }

  /** Writes a new live run. Call it in the transaction of the event that asked for the run. */
  start(run: NewRun): LiveRun {
    const { id: runId, sessionId } = run;
    const last = "SELECT n FROM palimpsest_runs WHERE session_id = ? ORDER BY n DESC LIMIT 1";
    const record: LiveRun = {
      ...run,
      n: (this.#db.run<{ n: number }>(last, sessionId)[0]?.n ?? 0) + 1,
      state: "pending",
      createdAt: this.#options.now(),
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
      estimatedTokens: 0,
      outcome: null,
      partial: false,
    };
    this.#db.insert("palimpsest_runs", { sessionId, n: record.n, runId, live: 1, record: JSON.stringify(record) });
    this.#live.delete(sessionId);
    this.#known.set(runId, record);
    this.#db.afterCommit(() => this.#options.started(record));
    return record;
  }

  /** Returns a run. Reads no row for a live run that was written or read before. */
  get(runId: string): RunRecord | null {
    const known = this.#known.get(runId);
    // A copy, so that a caller's change does not alter the cached record.
    if (known !== undefined) return { ...known };
    const [found = null] = this.#read("WHERE run_id = ?", runId);
    if (found?.outcome === null) this.#known.set(runId, found);
    return found;
  }

  /** Throws `unknown_run`. */
  mustGet(runId: string): RunRecord {
    const run = this.get(runId);
    if (run === null)
      throw new PalimpsestError("unknown_run", `There is no run "${runId}". runs() lists those of a session.`);
    return run;
  }

  /** Newest first. `before` is the `n` of the last run of the previous page. */
  list(sessionId: string, options: { limit: number; before?: number }): RunRecord[] {
    const { limit, before = Number.MAX_SAFE_INTEGER } = options;
    return this.#read("WHERE session_id = ? AND n < ? ORDER BY n DESC LIMIT ?", sessionId, before, limit);
  }

  /**
   * The session's newest compaction or split that has an outcome. Cached, because a trigger over its threshold asks at
   * every append.
   */
  latestEnded(sessionId: string): EndedRun | null {
    return this.#latest(sessionId, true);
  }

  /** The session's newest run of a room's own that has an outcome. */
  latestOther(sessionId: string): EndedRun | null {
    return this.#latest(sessionId, false);
  }

  #latest(sessionId: string, compacts: boolean): EndedRun | null {
    const known = compacts ? this.#latestEnded : this.#latestOther;
    const kept = known.get(sessionId);
    if (kept !== undefined) return kept;
    const newest = "SELECT max(n) FROM palimpsest_runs WHERE session_id = ?1";
    const which = `WHERE session_id = ?1 AND live = 0 AND n > (${newest}) - ${MOST_SEARCHED}
       AND (record ->> '$.kind' IN ('compaction', 'split')) = ?2 ORDER BY n DESC LIMIT 1`;
    const found = this.#read(which, sessionId, Number(compacts)).find((run) => run.outcome !== null) ?? null;
    known.set(sessionId, found);
    return found;
  }

  /** The session's runs without an outcome. Cached like {@link latestEnded}. */
  live(sessionId: string): readonly LiveRun[] {
    const known = this.#live.get(sessionId);
    if (known !== undefined) return known;
    const found = this.#readLive("session_id = ? AND live = 1 ORDER BY n", sessionId);
    this.#live.set(sessionId, found);
    return found;
  }

  /** Every run of every session without an outcome, read from the ledger. */
  allLive(): LiveRun[] {
    return this.#readLive("live = 1 ORDER BY session_id, n");
  }

  /** Records the view's size after a person undid a compaction, so that the trigger does not start the same one again. */
  settle(sessionId: string, size: Partial<Pick<EndedRun, "settledTokens" | "settledMessages">>): void {
    const last = this.latestEnded(sessionId);
    if (last === null) return;
    const settled = { ...last, ...size };
    this.#store(settled);
    this.#latestEnded.set(sessionId, settled);
  }

  /**
   * Removes texts by persons and providers from a session's runs: the focus and the messages of failures, which may
   * quote the conversation (S2). Counts stay.
   */
  forgetWords(sessionId: string): void {
    const words = `json_extract(record, '$.focus') IS NOT NULL OR json_extract(record, '$.outcome.kind') = 'failed'
       OR instr(record, '"failure":') + instr(record, '"declined"') > 0`;
    for (const run of this.#read(`WHERE session_id = ? AND (${words})`, sessionId))
      this.#store(withoutWords(run, FORGOTTEN));
    this.#db.forget(sessionId);
  }

  /** Changes a live run. For a run that has ended it writes nothing and returns the run as recorded. */
  change(runId: string, patch: RunPatch): RunRecord {
    const run = this.mustGet(runId);
    if (run.outcome !== null) return run;
    return this.write({ ...run, ...patch });
  }

  /** Writes a live run. Call it in the transaction that read the run, so that no other change is overwritten. */
  write(run: LiveRun): LiveRun {
    const { id, sessionId } = run;
    this.#store(run);
    this.#known.set(id, run);
    const live = this.#live.get(sessionId)?.map((each) => (each.id === id ? run : each));
    if (live !== undefined) this.#live.set(sessionId, live);
    return run;
  }

  /** Leaves a live run to a person, who is told after the commit. Call it as {@link write}. */
  propose(run: LiveRun): void {
    const proposed = this.write({ ...run, state: "proposed" });
    this.#db.afterCommit(() => this.#options.proposed(proposed));
  }

  /**
   * Gives a live run its outcome, with its record as the caller last changed it, and where messages count their number. Writes nothing for
   * a run that has ended, and returns the run with the outcome that is recorded. Throws `unknown_run`.
   */
  end(run: LiveRun, outcome: Outcome, settled: Pick<EndedRun, "settledMessages"> = {}): EndedRun {
    const found = this.mustGet(run.id);
    if (found.outcome !== null) return found;
    const { heardAt: _heardAt, mendAfter: _mendAfter, ...kept } = run;
    const endedAt = this.#options.now();
    const ended: EndedRun = { ...kept, state: "ended", outcome, endedAt, settledTokens: null, ...settled };
    this.#store(ended);
    this.#live.delete(run.sessionId);
    this.#known.delete(run.id);
    (isCompaction(run) ? this.#latestEnded : this.#latestOther).set(run.sessionId, ended);
    this.#db.afterCommit(() => this.#options.ended(ended));
    return ended;
  }

  /** The runs that the rest of a statement selects. This class wrote the records, so they are trusted as stored. */
  #read(which: string, ...bindings: readonly Binding[]): RunRecord[] {
    const rows = this.#db.run<{ record: string }>(`SELECT record FROM palimpsest_runs ${which}`, ...bindings);
    return rows.map(({ record }) => JSON.parse(record) as RunRecord);
  }

  #readLive(which: string, ...bindings: readonly Binding[]): LiveRun[] {
    const runs = this.#read(`INDEXED BY palimpsest_live_runs WHERE ${which}`, ...bindings);
    return runs.flatMap((run) => (run.outcome === null ? [run] : []));
  }

  /** Writes the record of a run. Only the end of one touches the index of live runs. */
  #store(run: RunRecord): void {
    const ends = run.outcome === null ? "" : ", live = 0";
    const sql = `UPDATE palimpsest_runs SET record = ?${ends} WHERE session_id = ? AND n = ?`;
    this.#db.run(sql, JSON.stringify(run), run.sessionId, run.n);
  }
}

export class HookOutbox {
  readonly #db: Db;
  /** Ids of runs whose hook is being called now. */
  readonly underWay = new Set<string>();

  constructor(db: Db) {
    this.#db = db;
  }

  add(runId: string, sessionId: string): void {
    this.#db.insert("palimpsest_hook_outbox", { runId, sessionId, attempts: 0 });
  }

  /** Ids of runs, in no particular order. */
  list(): string[] {
    return this.#db
      .run<{ runId: string }>("SELECT run_id AS runId FROM palimpsest_hook_outbox")
      .map(({ runId }) => runId);
  }

  /** Counts one more attempt. Returns the number of attempts, or 0 when the run is not in the outbox. */
  attempt(runId: string): number {
    const sql = "UPDATE palimpsest_hook_outbox SET attempts = attempts + 1 WHERE run_id = ? RETURNING attempts";
    return this.#db.run<{ attempts: number }>(sql, runId)[0]?.attempts ?? 0;
  }

  remove(runId: string): void {
    this.#db.run("DELETE FROM palimpsest_hook_outbox WHERE run_id = ?", runId);
  }

  removeSession(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_hook_outbox WHERE session_id = ?", sessionId);
  }
}
