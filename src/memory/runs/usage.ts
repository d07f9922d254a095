/** Token counts of each session's model calls, one row per model. */
import type { Db } from "../db.ts";
import { UsageStatements, type UsageRow } from "./usage-statements.ts";

export class UsageTable {
  readonly #sql: UsageStatements;
  /** Cached rows of sessions, so that a warm append reads none. */
  readonly #rows: Map<string, readonly UsageRow[]>;

  constructor(db: Db) {
    this.#sql = new UsageStatements(db);
    this.#rows = db.cached(new Map());
  }

  /** The last called model comes first. */
  rows(sessionId: string): readonly UsageRow[] {
    const rows = this.#rows.get(sessionId) ?? this.#sql.usage(sessionId);
    this.#rows.set(sessionId, rows);
    return rows;
  }

  put(sessionId: string, row: UsageRow): void {
    this.#sql.putUsage(sessionId, row);
    this.#rows.delete(sessionId);
  }

  /**
   * Copies the calibration of another session to a new one, whose sums begin at 0. Call it inside the transaction that
   * creates the session.
   */
  copy(from: string, to: string): void {
    this.#sql.copyUsage(from, to);
    this.#rows.delete(to);
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#sql.deleteUsage(sessionId);
  }
}
