/**
 * The tokens that summarisers read and wrote, by session for its lifetime and by UTC day for the agent.
 *
 * A day's sum outlives its sessions, so deleting a session frees no budget.
 */
import { utcDay, type Spend } from "../../steps/decide/budget.ts";
import type { Db } from "../db.ts";
import { HealthStatements } from "./health-statements.ts";

export class SpendTable {
  readonly #sql: HealthStatements;
  /** Cached sums of sessions and of one day, so that a waiting trigger reads no row. */
  readonly #sessions: Map<string, number>;
  #day: { readonly day: number; readonly tokens: number } | null = null;

  constructor(db: Db) {
    this.#sql = new HealthStatements(db);
    this.#sessions = db.cached(new Map());
    db.cached({ clear: () => (this.#day = null) });
  }

  of(sessionId: string, now: number): Spend {
    const day = utcDay(now);
    const sessionTokens = this.#sessions.get(sessionId) ?? this.#sql.sessionSpend(sessionId);
    this.#sessions.set(sessionId, sessionTokens);
    if (this.#day?.day !== day) this.#day = { day, tokens: this.#sql.daySpend(day) };
    return { sessionTokens, dayTokens: this.#day.tokens };
  }

  /** Call it inside a transaction. */
  add(sessionId: string, tokens: number, now: number): void {
    if (tokens === 0) return;
    this.#sql.addSessionSpend(sessionId, tokens);
    this.#sql.addDaySpend(utcDay(now), tokens);
    this.#sessions.delete(sessionId);
    this.#day = null;
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#sql.deleteSessionSpend(sessionId);
  }
}
