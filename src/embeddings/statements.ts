/** The statements on vectors, one verb each. */
import { ADDED_UP, type Db } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";

/** Which messages of a page were taken in, by which model. */
export type MarksRow = { page: number; model: string; size: number; marks: ArrayBuffer };
export type PageRow = MarksRow & { vectors: ArrayBuffer };

/** Messages whose vectors share one row. Forgetting one message drops the vectors of at most this many. */
export const EMBEDDED_TOGETHER = 128;

// A page has the vectors of neighbouring messages, all of one
// model. `marks` has the messages that were taken in, also those without a text.
defineTables("vectors", [
  `CREATE TABLE palimpsest_embeddings (
     session_id TEXT NOT NULL,
     page       INTEGER NOT NULL,
     model      TEXT NOT NULL,
     size       INTEGER NOT NULL,
     marks      BLOB NOT NULL,
     vectors    BLOB NOT NULL,
     PRIMARY KEY (session_id, page)
   ) WITHOUT ROWID`,
  `CREATE TABLE palimpsest_embedding_spend (day INTEGER PRIMARY KEY, tokens INTEGER NOT NULL)`,
  // A page of which a message is forgotten is made again when it is searched.
  `CREATE TRIGGER palimpsest_embeddings_forgotten INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'edited' OR NEW.what = 'deleted' BEGIN
       DELETE FROM palimpsest_embeddings WHERE session_id = NEW.session_id
         AND page IN (SELECT value / ${EMBEDDED_TOGETHER} FROM json_each(NEW.seqs));
     END`,
  `CREATE TRIGGER palimpsest_embeddings_cleared INSTEAD OF INSERT ON palimpsest_forgotten WHEN NEW.what = 'cleared' BEGIN
     DELETE FROM palimpsest_embeddings WHERE session_id = NEW.session_id;
   END`,
]);

export class EmbeddingStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The newest pages up to one, newest first, without their vectors. */
  marks(sessionId: string, upTo: number, limit: number): MarksRow[] {
    const sql = `SELECT page, model, size, marks FROM palimpsest_embeddings
       WHERE session_id = ? AND page <= ? ORDER BY page DESC LIMIT ?`;
    return this.#db.run<MarksRow>(sql, sessionId, upTo, limit);
  }

  page(sessionId: string, page: number): PageRow | undefined {
    const sql = `SELECT page, model, size, marks, vectors FROM palimpsest_embeddings WHERE session_id = ? AND page = ?`;
    return this.#db.run<PageRow>(sql, sessionId, page)[0];
  }

  put(sessionId: string, row: Omit<PageRow, "marks" | "vectors"> & { marks: Uint8Array; vectors: Uint8Array }): void {
    this.#db.replace("palimpsest_embeddings", { sessionId, ...row });
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
    this.#db.insert("palimpsest_embedding_spend", { day, tokens }, ADDED_UP);
  }
}
