/**
 * The tokens that summarisers read and wrote, by session for its lifetime and by UTC day for the agent.
 *
 * A day's sum outlives its sessions, so deleting a session frees no budget.
 */
import { utcDay, type Spend } from "../../steps/decide/budget.ts";
import { ADDED_UP, type Db } from "../db.ts";

export class SpendTable {
  readonly #db: Db;
  /** Cached sums of sessions and of one day, so that a waiting trigger reads no row. */
  readonly #sessions: Map<string, number>;
  #day: { readonly day: number; readonly tokens: number } | null = null;

  constructor(db: Db) {
    this.#db = db;
    this.#sessions = db.cached(new Map());
    db.cached({ clear: () => (this.#day = null) });
  }

  of(sessionId: string, now: number): Spend {
    const day = utcDay(now);
    const spent = (sql: string, key: string | number): number =>
      this.#db.run<{ tokens: number }>(sql, key)[0]?.tokens ?? 0;
    const sessionTokens =
      this.#sessions.get(sessionId) ?? spent("SELECT tokens FROM palimpsest_spend WHERE session_id = ?", sessionId);
    this.#sessions.set(sessionId, sessionTokens);
    if (this.#day?.day !== day)
      this.#day = { day, tokens: spent("SELECT tokens FROM palimpsest_day_spend WHERE day = ?", day) };
    return { sessionTokens, dayTokens: this.#day.tokens };
  }

  /** Call it inside a transaction. */
  add(sessionId: string, tokens: number, now: number): void {
    if (tokens === 0) return;
    const day = utcDay(now);
    // Budgets count the current day only.
    this.#db.run("DELETE FROM palimpsest_day_spend WHERE day < ?", day);
    this.#db.insert("palimpsest_spend", { sessionId, tokens }, ADDED_UP);
    this.#db.insert("palimpsest_day_spend", { day, tokens }, ADDED_UP);
    this.#sessions.delete(sessionId);
    this.#day = null;
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_spend WHERE session_id = ?", sessionId);
  }
}
