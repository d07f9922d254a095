/** What model calls of each session were counted at, a row a model. */
import type { Db } from "../db.ts";
import { UsageStatements, type UsageRow } from "./usage-statements.ts";

export class UsageTable {
  readonly #sql: UsageStatements;
  /** Rows of the sessions that were asked for, so that a warm append reads none. */
  readonly #rows: Map<string, readonly UsageRow[]>;

  constructor(db: Db) {
    this.#sql = new UsageStatements(db);
    this.#rows = db.cached(new Map());
  }

  /** The model that was called last comes first. */
  rows(sessionId: string): readonly UsageRow[] {
    const rows = this.#rows.get(sessionId) ?? this.#sql.usage(sessionId);
    this.#rows.set(sessionId, rows);
    return rows;
  }

  put(sessionId: string, row: UsageRow): void {
    this.#sql.putUsage(sessionId, row);
    this.#rows.delete(sessionId);
  }

  /** Gives a new session what another one learned; its sums begin at 0. Call inside the transaction that makes it. */
  copy(from: string, to: string): void {
    this.#sql.copyUsage(from, to);
    this.#rows.delete(to);
  }

  /** For a session that is deleted. Call inside its transaction. */
  delete(sessionId: string): void {
    this.#sql.deleteUsage(sessionId);
  }
}
