/**
 * The statements that remove words and vectors, one verb each. Every agent has them, even one that no longer declares
 * search. Those that search and fill the index stand in src/recall/search.ts.
 *
 * The index is one FTS5 table over all sessions. A message's row number in it is `session * 2^31 + seq`. So a row is
 * found, replaced and deleted by its key, and a session's messages are one range of numbers. Messages that are indexed
 * only in part are listed beside it, by the same number. `secure-delete` removes the words of a deleted row from the
 * index at once instead of at a later merge (S2). It rewrites a page for each word, so many rows are removed without it, and the index is
 * merged after them in the same transaction, which leaves none of their words either.
 */
import type { Db } from "../db.ts";

/** How far a session is indexed. `n` is its number in the index. `noted` is null while a search is still indexing it. */
export type IndexedRow = { n: number; noted: number | null; indexedTo: number };

/** Row numbers per session. No session holds more messages, and the numbers of 4 million sessions stay exact. */
const SESSION_SIZE = 2 ** 31;

/** Numbers are bound as floating point, and FTS5 ignores a row number of that type. */
export const ROWID = "CAST(? AS INTEGER)";

export function rowidOf(n: number, seq: number): number {
  return n * SESSION_SIZE + seq;
}

/** The last row number of a session. */
export function lastOf(n: number): number {
  return rowidOf(n + 1, 0) - 1;
}

export function placeOf(rowid: number): { n: number; seq: number } {
  return { n: Math.floor(rowid / SESSION_SIZE), seq: rowid % SESSION_SIZE };
}

/** Messages whose vectors share one row. Forgetting one message drops the vectors of at most this many. */
export const EMBEDDED_TOGETHER = 128;

/** From so many rows on, removing them row by row would keep an object for seconds. */
const LEAST_AT_ONCE = 500;
/** Merging a row of the index takes about this part of the time of removing one alone. */
const MERGED_FOR_ONE = 64;

export class ForgetStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Where nothing is noted, the session's newest row in the index tells how far it is indexed. */
  indexed(sessionId: string): IndexedRow | undefined {
    const newest =
      "SELECT max(rowid) - (n << 31) FROM palimpsest_search WHERE rowid >= n << 31 AND rowid < n + 1 << 31";
    const sql = `SELECT n, indexed_to AS noted, coalesce(indexed_to, (${newest}), -1) AS indexedTo FROM palimpsest_searched_sessions WHERE session_id = ?`;
    return this.#db.run<IndexedRow>(sql, sessionId)[0];
  }

  /** Takes messages out of the index. Call it inside a transaction. */
  deleteWords(rowids: readonly number[]): void {
    this.#remove(rowids.length, () => {
      for (const rowid of rowids) this.#deleteRow(rowid);
    });
  }

  #deleteRow(rowid: number): void {
    this.#db.run(`DELETE FROM palimpsest_search WHERE rowid = ${ROWID}`, rowid);
    this.#db.run("DELETE FROM palimpsest_search_partial WHERE number = ?", rowid);
  }

  partialBetween({ first, last }: { first: number; last: number }): number[] {
    const sql = "SELECT number FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?";
    return this.#db.run<{ number: number }>(sql, first, last).map(({ number }) => number);
  }

  /** Takes a session out of the index. Call it inside a transaction. */
  deleteIndexed({ n, indexedTo }: IndexedRow): void {
    const [first, last] = [rowidOf(n, 0), lastOf(n)];
    this.#remove(indexedTo + 1, () => {
      this.#db.run(`DELETE FROM palimpsest_search WHERE rowid BETWEEN ${ROWID} AND ${ROWID}`, first, last);
    });
    this.#db.run("DELETE FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?", first, last);
    this.#db.run("DELETE FROM palimpsest_searched_sessions WHERE n = ?", n);
  }

  /** Removes up to `rows` rows in the way that takes less time. */
  #remove(rows: number, remove: () => void): void {
    if (rows < LEAST_AT_ONCE || this.#holdsMoreThan(rows * MERGED_FOR_ONE)) return remove();
    this.#db.run("INSERT INTO palimpsest_search (palimpsest_search, rank) VALUES ('secure-delete', 0)");
    remove();
    this.#db.run("INSERT INTO palimpsest_search (palimpsest_search) VALUES ('optimize')");
    this.#db.run("INSERT INTO palimpsest_search (palimpsest_search, rank) VALUES ('secure-delete', 1)");
  }

  #holdsMoreThan(rows: number): boolean {
    const sql = "SELECT count(*) AS held FROM (SELECT 1 FROM palimpsest_search LIMIT ?)";
    return (this.#db.run<{ held: number }>(sql, rows + 1)[0]?.held ?? 0) > rows;
  }

  /** Deletes the vectors of a message, with those of its page. They are made again when they are searched. */
  deleteVectors(sessionId: string, seq: number): void {
    const page = Math.floor(seq / EMBEDDED_TOGETHER);
    this.#db.run("DELETE FROM palimpsest_embeddings WHERE session_id = ? AND page = ?", sessionId, page);
  }

  deleteSessionVectors(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_embeddings WHERE session_id = ?", sessionId);
  }
}
