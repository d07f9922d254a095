/**
 * The statements of the outbox of ended runs whose hook must still be called, one verb each. A row is written with a
 * run's outcome and deleted after delivery, so there are few.
 */
import type { Db } from "../db.ts";

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
