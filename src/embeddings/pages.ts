/**
 * Vectors stand in pages, a row each, that are compared with the vector of a question.
 *
 * An entry of a page is the message's place in it, the piece of the message, a scale, and one signed byte for each dimension. A byte holds a
 * share of the largest dimension, so a comparison is nearly the exact one. Vectors are stored with a length of one, so a product of two is
 * their cosine.
 */
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

/** Bytes of an entry before its dimensions: place, piece, and a scale of 32 bits. */
export const ENTRY_BYTES = 6;
const MOST_IN_A_BYTE = 127;

/** A piece of a message, by the message's place in its page. */
export interface VectorEntry {
  readonly offset: number;
  readonly piece: number;
  readonly vector: readonly number[];
}

/** What is similar to a question. */
export interface Similar {
  readonly offset: number;
  readonly piece: number;
  /** The cosine, from -1 to 1. */
  readonly similarity: number;
}

/** The vector with a length of one. All zeros stay zeros. */
export function ofLengthOne(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (each) => (length === 0 ? 0 : each / length));
}

/** Adds entries behind those of a page. */
export function packEntries(page: Uint8Array, entries: readonly VectorEntry[]): Uint8Array {
  const size = entries[0]?.vector.length ?? 0;
  const packed = new Uint8Array(page.length + entries.length * (ENTRY_BYTES + size));
  packed.set(page);
  const view = new DataView(packed.buffer);
  let at = page.length;
  for (const { offset, piece, vector } of entries) {
    const unit = ofLengthOne(vector);
    const largest = unit.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    const scale = largest / MOST_IN_A_BYTE;
    view.setUint8(at, offset);
    view.setUint8(at + 1, piece);
    view.setFloat32(at + 2, scale);
    for (const [dimension, each] of unit.entries()) {
      view.setInt8(at + ENTRY_BYTES + dimension, scale === 0 ? 0 : Math.round(each / scale));
    }
    at += ENTRY_BYTES + size;
  }
  return packed;
}

/** Compares each entry of a page with a question's vector, which {@link ofLengthOne} made. */
export function similarIn(page: Uint8Array, question: Float32Array): Similar[] {
  const size = question.length;
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const bytes = new Int8Array(page.buffer, page.byteOffset, page.byteLength);
  const found: Similar[] = [];
  for (let at = 0; at + ENTRY_BYTES + size <= page.length; at += ENTRY_BYTES + size) {
    const first = at + ENTRY_BYTES;
    let product = 0;
    for (let each = 0; each < size; each++) product += (bytes[first + each] ?? 0) * (question[each] ?? 0);
    const similarity = product * view.getFloat32(at + 2);
    found.push({ offset: view.getUint8(at), piece: view.getUint8(at + 1), similarity });
  }
  return found;
}
