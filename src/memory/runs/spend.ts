/**
 * What summarising cost, in tokens in and out of the summariser: by session for its life, and by day (UTC) for the
 * agent. A day's sum outlives the sessions that made it, so that deleting one gives nothing back.
 */
import { utcDay, type Spend } from "../../steps/decide/budget.ts";
import type { Db } from "../db.ts";
import { HealthStatements } from "./health-statements.ts";

export class SpendTable {
  readonly #sql: HealthStatements;
  /** Of the sessions that were asked for, and of one day, so that a trigger that waits reads no row. */
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

  /** Call inside a transaction. */
  add(sessionId: string, tokens: number, now: number): void {
    if (tokens === 0) return;
    this.#sql.addSessionSpend(sessionId, tokens);
    this.#sql.addDaySpend(utcDay(now), tokens);
    this.#sessions.delete(sessionId);
    this.#day = null;
  }

  /** For a session that is deleted. Call inside its transaction. */
  delete(sessionId: string): void {
    this.#sql.deleteSessionSpend(sessionId);
  }
}
