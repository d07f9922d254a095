/**
 * The tokens that summarisers read and wrote, by session for its lifetime and by UTC day for the agent.
 *
 * A day's sum outlives its sessions, so deleting a session frees no budget.
 */
import { utcDay, type Spend } from "../../steps/decide/decide.ts";
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
    const sessionTokens = this.#sessions.get(sessionId) ?? this.#spent(sessionId);
    this.#sessions.set(sessionId, sessionTokens);
    if (this.#day?.day !== day) this.#day = { day, tokens: this.#spent(day) };
    return { sessionTokens, dayTokens: this.#day.tokens };
  }

  /** Call it inside a transaction. */
  add(sessionId: string, tokens: number, now: number): void {
    if (tokens === 0) return;
    const day = utcDay(now);
    // Budgets count the current day only. A number is less than any text, so no session is among these.
    this.#db.run("DELETE FROM palimpsest_spend WHERE key < ?", day);
    for (const key of [sessionId, day]) this.#db.insert("palimpsest_spend", { key, tokens }, ADDED_UP);
    this.#sessions.delete(sessionId);
    this.#day = null;
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_spend WHERE key = ?", sessionId);
  }

  #spent(key: string | number): number {
    return this.#db.run<{ tokens: number }>("SELECT tokens FROM palimpsest_spend WHERE key = ?", key)[0]?.tokens ?? 0;
  }
}
