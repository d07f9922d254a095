/**
 * The statements that remove words and vectors, one verb each. Every agent has them, even one that no longer declares
 * search. Those that search and fill the index stand in src/recall/search.
 *
 * The index is one FTS5 table over all sessions. A message's row number in it is `session * 2^31 + seq`. So a row is
 * found, replaced and deleted by its key, and a session's messages are one range of numbers. Messages that are indexed
 * only in part are listed beside it, by the same number. `secure-delete` removes the words of a deleted row from the
 * index at once instead of at a later merge (S2).
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

  deleteWords(rowid: number): void {
    this.#db.run(`DELETE FROM palimpsest_search WHERE rowid = ${ROWID}`, rowid);
    this.#db.run("DELETE FROM palimpsest_search_partial WHERE number = ?", rowid);
  }

  partialBetween({ first, last }: { first: number; last: number }): number[] {
    const sql = "SELECT number FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?";
    return this.#db.run<{ number: number }>(sql, first, last).map(({ number }) => number);
  }

  /** Takes a session out of the index. */
  deleteIndexed(n: number): void {
    const [first, last] = [rowidOf(n, 0), lastOf(n)];
    this.#db.run(`DELETE FROM palimpsest_search WHERE rowid BETWEEN ${ROWID} AND ${ROWID}`, first, last);
    this.#db.run("DELETE FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?", first, last);
    this.#db.run("DELETE FROM palimpsest_searched_sessions WHERE n = ?", n);
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
