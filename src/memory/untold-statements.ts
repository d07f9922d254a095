/**
 * Every statement on the ends of runs that a caller's function is yet to be told of, one verb each; in the manner of
 * statements.ts, whose meter it shares. A row comes with a run's outcome and goes once it was told: there are few.
 */
import type { Storage } from "./schema.ts";
import type { Meter } from "./statements.ts";

export class UntoldStatements {
  readonly #sql: Storage["sql"];
  readonly #meter: Meter;

  constructor(sql: Storage["sql"], meter: Meter) {
    this.#sql = sql;
    this.#meter = meter;
  }

  add(runId: string, sessionId: string): void {
    this.#all("INSERT INTO palimpsest_untold (run_id, session_id, attempts) VALUES (?, ?, 0)", runId, sessionId);
  }

  /** Ids of runs, in no order that means anything. */
  list(): string[] {
    return this.#all<{ runId: string }>("SELECT run_id AS runId FROM palimpsest_untold").map(({ runId }) => runId);
  }

  /** Counts one more attempt; how many that makes, or 0 when there is nothing to tell. */
  attempt(runId: string): number {
    const sql = "UPDATE palimpsest_untold SET attempts = attempts + 1 WHERE run_id = ? RETURNING attempts";
    return this.#all<{ attempts: number }>(sql, runId)[0]?.attempts ?? 0;
  }

  remove(runId: string): void {
    this.#all("DELETE FROM palimpsest_untold WHERE run_id = ?", runId);
  }

  removeSession(sessionId: string): void {
    this.#all("DELETE FROM palimpsest_untold WHERE session_id = ?", sessionId);
  }

  #all<Found extends Record<string, SqlStorageValue>>(sql: string, ...bindings: SqlStorageValue[]): Found[] {
    const cursor = this.#sql.exec<Found>(sql, ...bindings);
    const rows = cursor.toArray();
    this.#meter.rowsRead += cursor.rowsRead;
    this.#meter.rowsWritten += cursor.rowsWritten;
    return rows;
  }
}
