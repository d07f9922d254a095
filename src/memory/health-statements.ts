/**
 * Every statement on how summarisers fare and what they cost, one verb each; in the manner of statements.ts, whose
 * meter it shares. Numbers, model names and codes: nothing that was said.
 */
import type { Breaker } from "../steps/breaker.ts";
import type { Storage } from "./schema.ts";
import type { Meter } from "./statements.ts";

/** One model's breaker, and when it was last heard of (epoch ms). */
export type HealthRow = { [Field in keyof Breaker]: Breaker[Field] } & { model: string; heardAt: number };

const HEALTH = "model, failures, openings, until, probe, code, heard_at AS heardAt";

export class HealthStatements {
  readonly #sql: Storage["sql"];
  readonly #meter: Meter;

  constructor(sql: Storage["sql"], meter: Meter) {
    this.#sql = sql;
    this.#meter = meter;
  }

  /** Of every model; there are as many as were ever configured. */
  health(): HealthRow[] {
    return this.#all<HealthRow>(`SELECT ${HEALTH} FROM palimpsest_health ORDER BY model`);
  }

  putHealth(row: HealthRow): void {
    const sql = `INSERT OR REPLACE INTO palimpsest_health (model, failures, openings, until, probe, code, heard_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`;
    this.#all(sql, row.model, row.failures, row.openings, row.until, row.probe, row.code, row.heardAt);
  }

  sessionSpend(sessionId: string): number {
    const sql = "SELECT tokens FROM palimpsest_spend WHERE session_id = ?";
    return this.#all<{ tokens: number }>(sql, sessionId)[0]?.tokens ?? 0;
  }

  addSessionSpend(sessionId: string, tokens: number): void {
    const sql = `INSERT INTO palimpsest_spend (session_id, tokens) VALUES (?, ?)
       ON CONFLICT (session_id) DO UPDATE SET tokens = tokens + excluded.tokens`;
    this.#all(sql, sessionId, tokens);
  }

  deleteSessionSpend(sessionId: string): void {
    this.#all("DELETE FROM palimpsest_spend WHERE session_id = ?", sessionId);
  }

  daySpend(day: number): number {
    return this.#all<{ tokens: number }>("SELECT tokens FROM palimpsest_day_spend WHERE day = ?", day)[0]?.tokens ?? 0;
  }

  /** Days before this one are forgotten with it: nobody asks for them. */
  addDaySpend(day: number, tokens: number): void {
    this.#all("DELETE FROM palimpsest_day_spend WHERE day < ?", day);
    const sql = `INSERT INTO palimpsest_day_spend (day, tokens) VALUES (?, ?)
       ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens`;
    this.#all(sql, day, tokens);
  }

  #all<Found extends Record<string, SqlStorageValue>>(sql: string, ...bindings: (string | number | null)[]): Found[] {
    const cursor = this.#sql.exec<Found>(sql, ...bindings);
    const rows = cursor.toArray();
    this.#meter.rowsRead += cursor.rowsRead;
    this.#meter.rowsWritten += cursor.rowsWritten;
    return rows;
  }
}
