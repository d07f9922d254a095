/**
 * The ledger: one record per attempt to compact, from the transaction that asked for it to its one outcome.
 *
 * The ledger is the truth about runs. A run is live until its outcome is recorded here, even if the Workflows engine
 * reports another state. This module knows no workflow and no model. It stores a run's policy and does not read it.
 *
 * R1: {@link Runs.end} writes an outcome only while the run is live, and returns the outcome that is recorded. R2: one
 * live compaction per branch. The caller checks {@link Runs.live} in the transaction that starts another run.
 */
import { PalimpsestError } from "../../errors.ts";
import {
  isCompaction,
  withoutWords,
  type EndedRun,
  type LiveRun,
  type NewRun,
  type Outcome,
  type RunPatch,
  type RunRecord,
} from "./record.ts";
import type { Binding, Db } from "../db.ts";

export { closeStep, isCompaction, markStep, planOf } from "./record.ts";
export type {
  AskedCall,
  EndedRun,
  FailureCode,
  Finished,
  LiveRun,
  LiveSplit,
  NotesPlan,
  Outcome,
  RunPatch,
  RunRecord,
  RunState,
  StepRecord,
  Trigger,
  Verdict,
  WhyModel,
} from "./record.ts";

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
