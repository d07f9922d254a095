/**
 * The statements on vectors, one verb each. Vectors are forgotten by those that every agent has (src/memory/search/statements.ts).
 */
import type { Db } from "../memory/db.ts";

/** Which messages of a page were taken in, by which model. */
export type ToldRow = { page: number; model: string; size: number; told: ArrayBuffer };
export type PageRow = ToldRow & { vectors: ArrayBuffer };

export class EmbeddingStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The newest pages up to one, newest first, without their vectors. */
  told(sessionId: string, upTo: number, limit: number): ToldRow[] {
    const sql = `SELECT page, model, size, told FROM palimpsest_embeddings
       WHERE session_id = ? AND page <= ? ORDER BY page DESC LIMIT ?`;
    return this.#db.run<ToldRow>(sql, sessionId, upTo, limit);
  }

  page(sessionId: string, page: number): PageRow | undefined {
    const sql = `SELECT page, model, size, told, vectors FROM palimpsest_embeddings WHERE session_id = ? AND page = ?`;
    return this.#db.run<PageRow>(sql, sessionId, page)[0];
  }

  put(
    sessionId: string,
    { page, model, size, told, vectors }: Omit<PageRow, "told" | "vectors"> & { told: Uint8Array; vectors: Uint8Array },
  ): void {
    const sql = `INSERT OR REPLACE INTO palimpsest_embeddings (session_id, page, model, size, told, vectors)
       VALUES (?, ?, ?, ?, ?, ?)`;
    this.#db.run(sql, sessionId, page, model, size, told, vectors);
  }

  /** The digest of a message. Undefined for one that was deleted. */
  digest(sessionId: string, seq: number): string | undefined {
    const sql = "SELECT digest FROM palimpsest_messages WHERE session_id = ? AND seq = ?";
    return this.#db.run<{ digest: string }>(sql, sessionId, seq)[0]?.digest;
  }

  /** Tokens that the embedding model read on a day. */
  spend(day: number): number {
    const sql = "SELECT tokens FROM palimpsest_embedding_spend WHERE day = ?";
    return this.#db.run<{ tokens: number }>(sql, day)[0]?.tokens ?? 0;
  }

  /** Adds to a day's tokens. Deletes earlier days, because the budget counts the current one alone. */
  addSpend(day: number, tokens: number): void {
    this.#db.run("DELETE FROM palimpsest_embedding_spend WHERE day < ?", day);
    const sql = `INSERT INTO palimpsest_embedding_spend (day, tokens) VALUES (?, ?)
       ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens`;
    this.#db.run(sql, day, tokens);
  }
}
