/**
 * The statements on summariser health and token spend, one verb each. The rows hold numbers, model names and error
 * codes, and no text of a conversation.
 */
import type { Breaker } from "../../steps/decide/breaker.ts";
import type { Db } from "../db.ts";

/** One model's breaker and the time of its last result (epoch ms). */
export type HealthRow = { [Field in keyof Breaker]: Breaker[Field] } & { model: string; heardAt: number };

const HEALTH = "model, failures, openings, until, probe, code, heard_at AS heardAt";

export class HealthStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Every model that was ever configured and heard of. */
  health(): HealthRow[] {
    return this.#db.run<HealthRow>(`SELECT ${HEALTH} FROM palimpsest_health ORDER BY model`);
  }

  putHealth(row: HealthRow): void {
    const sql = `INSERT OR REPLACE INTO palimpsest_health (model, failures, openings, until, probe, code, heard_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`;
    this.#db.run(sql, row.model, row.failures, row.openings, row.until, row.probe, row.code, row.heardAt);
  }

  sessionSpend(sessionId: string): number {
    const sql = "SELECT tokens FROM palimpsest_spend WHERE session_id = ?";
    return this.#db.run<{ tokens: number }>(sql, sessionId)[0]?.tokens ?? 0;
  }

  addSessionSpend(sessionId: string, tokens: number): void {
    const sql = `INSERT INTO palimpsest_spend (session_id, tokens) VALUES (?, ?)
       ON CONFLICT (session_id) DO UPDATE SET tokens = tokens + excluded.tokens`;
    this.#db.run(sql, sessionId, tokens);
  }

  deleteSessionSpend(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_spend WHERE session_id = ?", sessionId);
  }

  daySpend(day: number): number {
    return (
      this.#db.run<{ tokens: number }>("SELECT tokens FROM palimpsest_day_spend WHERE day = ?", day)[0]?.tokens ?? 0
    );
  }

  /** Adds to a day's spend. Deletes earlier days, because budgets only count the current one. */
  addDaySpend(day: number, tokens: number): void {
    this.#db.run("DELETE FROM palimpsest_day_spend WHERE day < ?", day);
    const sql = `INSERT INTO palimpsest_day_spend (day, tokens) VALUES (?, ?)
       ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens`;
    this.#db.run(sql, day, tokens);
  }
}
