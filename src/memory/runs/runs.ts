/**
 * The ledger: one record per attempt to compact, from the transaction that asked for it to its one outcome.
 *
 * Job: be the truth about runs. The Workflows engine is asked, never believed: a run is live until its outcome
 * stands here. Boundary: knows no workflow, no model and no policy decisions.
 *
 * R1 one outcome: {@link Runs.end} writes it only while the run is live, and answers the outcome that stands.
 * R2 one live run per branch: the caller checks with {@link Runs.live} in the transaction that starts another.
 */
import { PalimpsestError } from "../../errors.ts";
import { withoutWords, type NewRun, type Outcome, type RunRecord } from "./record.ts";
import type { Db } from "../db.ts";
import { Statements } from "../statements.ts";

export { closeStep, markStep, planOf } from "./record.ts";
export type { Approval, FailureCode, Outcome, RunRecord, RunState, StepRecord, Trigger, Verdict } from "./record.ts";

/** Pages of the ledger that are looked through for the newest run of a kind: notes are updated far oftener than summaries made. */
const MAX_LEDGER_PAGES = 10;

/** How far back the newest finished run is looked for: live runs are at most one per branch. */
const MAX_LIVE_RUNS = 20;

/** Stands where a failure was told in words. */
const FORGOTTEN = "Cleared with what was said.";

export interface RunsOptions {
  readonly now: () => number;
  /** Told once the transaction that started a run stands. */
  readonly started: (run: RunRecord) => void;
  /** Told once the transaction that gave a run its outcome stands: once for each run. */
  readonly ended: (run: RunRecord) => void;
}

export class Runs {
  readonly #db: Db;
  readonly #sql: Statements;
  readonly #options: RunsOptions;
  readonly #live: Map<string, readonly RunRecord[]>;
  /** Live runs by id: each call of a run's workflow asks for its own. */
  readonly #known = new Map<string, RunRecord>();
  readonly #latestEnded: Map<string, RunRecord | null>;
  readonly #latestNotes: Map<string, RunRecord | null>;

  constructor(db: Db, options: RunsOptions) {
    this.#db = db;
    this.#sql = new Statements(db);
    this.#options = options;
    this.#live = db.cached(new Map());
    db.cached({
      clear: () => this.#known.clear(),
      delete: (sessionId) => {
        for (const run of this.#known.values()) if (run.sessionId === sessionId) this.#known.delete(run.id);
      },
    });
    this.#latestEnded = db.cached(new Map());
    this.#latestNotes = db.cached(new Map());
  }

  /** Writes a new live run. Belongs into the transaction of whatever asked for it. */
  start(run: NewRun): RunRecord {
    const record: RunRecord = {
      ...run,
      n: this.#sql.lastRunNumber(run.sessionId) + 1,
      kind: run.kind ?? (run.split === undefined ? "compaction" : "split"),
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
      settledTokens: null,
      partial: false,
    };
    this.#sql.insertRun(record.sessionId, record.n, { runId: record.id, record: JSON.stringify(record) });
    this.#live.delete(record.sessionId);
    this.#known.set(record.id, record);
    this.#db.afterCommit(() => this.#options.started(record));
    return record;
  }

  /** Of a live run that was written or read before, no row is read. */
  get(runId: string): RunRecord | null {
    const known = this.#known.get(runId);
    // A copy: what a caller does to it is not what the ledger says.
    if (known !== undefined) return { ...known };
    const row = this.#sql.runById(runId);
    const found = row === undefined ? null : mustParse(row);
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

  /** Newest first. `before` is a run's `n`, to page on. */
  list(sessionId: string, options: { limit: number; before?: number }): RunRecord[] {
    return this.#sql
      .runsNewestFirst(sessionId, options.before ?? Number.MAX_SAFE_INTEGER, options.limit)
      .map(mustParse);
  }

  /**
   * The session's newest compaction or split that has its outcome. Kept in memory: a trigger over its threshold asks at every
   * append.
   */
  latestEnded(sessionId: string): RunRecord | null {
    return this.#latest(sessionId, (kind) => kind !== "notes");
  }

  /** The session's newest update of its notes that has its outcome. */
  latestNotes(sessionId: string): RunRecord | null {
    return this.#latest(sessionId, (kind) => kind === "notes");
  }

  #latest(sessionId: string, is: (kind: RunRecord["kind"]) => boolean): RunRecord | null {
    const known = is("notes") ? this.#latestNotes : this.#latestEnded;
    const kept = known.get(sessionId);
    if (kept !== undefined) return kept;
    let found: RunRecord | null = null;
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < MAX_LEDGER_PAGES && found === null && before > 1; page++) {
      const runs = this.list(sessionId, { limit: MAX_LIVE_RUNS, before });
      found = runs.find((run) => run.outcome !== null && is(run.kind)) ?? null;
      before = runs.at(-1)?.n ?? 1;
    }
    known.set(sessionId, found);
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
      this.#sql.updateRun(sessionId, run.n, JSON.stringify(withoutWords(run, FORGOTTEN)));
    }
    this.#db.forget(sessionId);
  }

  /** Changes a live run; a run that has ended is returned as it stands and nothing is written. */
  change(runId: string, patch: Partial<Omit<RunRecord, "id" | "sessionId" | "n" | "outcome">>): RunRecord {
    const run = this.mustGet(runId);
    if (run.outcome !== null) return run;
    return this.write({ ...run, ...patch });
  }

  /** Writes a live run as it is now. Call in the transaction that read it, so that nothing else is overwritten. */
  write(run: RunRecord): RunRecord {
    const { id, sessionId, n } = run;
    this.#sql.updateRun(sessionId, n, JSON.stringify(run));
    this.#known.set(id, run);
    const live = this.#live.get(sessionId)?.map((each) => (each.id === id ? run : each));
    if (live !== undefined) this.#live.set(sessionId, live);
    return run;
  }

  /** Gives a run its outcome, once. Returns the run with the outcome that stands. */
  end(runId: string, outcome: Outcome, patch: Partial<RunRecord> = {}): RunRecord {
    const run = this.mustGet(runId);
    if (run.outcome !== null) return run;
    const ended: RunRecord = { ...run, ...patch, state: "ended", outcome, endedAt: this.#options.now() };
    this.#sql.endRun(run.sessionId, run.n, JSON.stringify(ended));
    this.#live.delete(run.sessionId);
    this.#known.delete(runId);
    (run.kind === "notes" ? this.#latestNotes : this.#latestEnded).set(run.sessionId, ended);
    this.#db.afterCommit(() => this.#options.ended(ended));
    return ended;
  }
}

/** The record was written by this file, under this schema version: it is trusted as stored. */
function mustParse(row: { record: string }): RunRecord {
  return JSON.parse(row.record) as RunRecord;
}
