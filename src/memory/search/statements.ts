/**
 * The statements of the search index, one verb each.
 *
 * The index is one FTS5 table over all sessions. A message's row number in it is `session * 2^31 + seq`. So a row is
 * found, replaced and deleted by its key, and a session's messages are one range of numbers. Messages that are indexed
 * only in part are listed beside it, by the same number. `secure-delete` removes the words of a deleted row from the
 * index at once instead of at a later merge (S2).
 */
import type { Db } from "../db.ts";

/** How far a session is indexed. `n` is its number in the index. */
export type IndexedRow = { n: number; indexedTo: number };

export type SourceRow = { seq: number; id: string; role: string; parts: number; digest: string; content: string };
export type MatchRow = { rowid: number; rank: number };
export type FoundRow = { id: string; role: string; createdAt: number };

/** Row numbers per session. No session holds more messages, and the numbers of 4 million sessions stay exact. */
const SESSION_SIZE = 2 ** 31;

/** Numbers are bound as floating point, and FTS5 ignores a row number of that type. */
const ROWID = "CAST(? AS INTEGER)";

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

/** Places of messages whose vectors stand in one row. A forgotten message costs the vectors of so many at most. */
export const EMBEDDED_TOGETHER = 128;

/** The statements that remove words. Every agent has them, even one that no longer declares search. */
export class ForgetStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  indexed(sessionId: string): IndexedRow | undefined {
    const sql = "SELECT n, indexed_to AS indexedTo FROM palimpsest_searched_sessions WHERE session_id = ?";
    return this.#db.run<IndexedRow>(sql, sessionId)[0];
  }

  deleteIndexed(n: number): void {
    this.#db.run("DELETE FROM palimpsest_searched_sessions WHERE n = ?", n);
  }

  deleteWords(rowid: number): void {
    this.#db.run(`DELETE FROM palimpsest_search WHERE rowid = ${ROWID}`, rowid);
    this.#db.run("DELETE FROM palimpsest_search_partial WHERE number = ?", rowid);
  }

  partialBetween({ first, last }: { first: number; last: number }): number[] {
    const sql = "SELECT number FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?";
    return this.#db.run<{ number: number }>(sql, first, last).map(({ number }) => number);
  }

  /** Deletes the words of every message that is still stored in the session. */
  deleteSessionWords(sessionId: string, indexed: IndexedRow): void {
    const sql = `DELETE FROM palimpsest_search WHERE rowid IN
       (SELECT ${ROWID} + seq FROM palimpsest_messages WHERE session_id = ? AND seq <= ?)`;
    this.#db.run(sql, rowidOf(indexed.n, 0), sessionId, indexed.indexedTo);
    const partial = "DELETE FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?";
    this.#db.run(partial, rowidOf(indexed.n, 0), lastOf(indexed.n));
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

/** The further statements that searching needs. */
export class SearchStatements extends ForgetStatements {
  readonly #db: Db;

  constructor(db: Db) {
    super(db);
    this.#db = db;
  }

  sessionIds(): { sessionId: string }[] {
    return this.#db.run("SELECT session_id AS sessionId FROM palimpsest_sessions");
  }

  /** Gives the session a number in the index. */
  insertIndexed(sessionId: string): number {
    const sql = "INSERT INTO palimpsest_searched_sessions (session_id, indexed_to) VALUES (?, -1) RETURNING n";
    return this.#db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  setIndexedTo(n: number, seq: number): void {
    this.#db.run("UPDATE palimpsest_searched_sessions SET indexed_to = ? WHERE n = ?", seq, n);
  }

  /** The first message after `seq`. Reads one at a time, because a message may take megabytes. */
  messageAfter(sessionId: string, seq: number): SourceRow | undefined {
    const sql = `SELECT seq, id, role, parts, digest, content FROM palimpsest_messages
       WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT 1`;
    return this.#db.run<SourceRow>(sql, sessionId, seq)[0];
  }

  message(sessionId: string, seq: number): FoundRow | undefined {
    const sql = "SELECT id, role, created_at AS createdAt FROM palimpsest_messages WHERE session_id = ? AND seq = ?";
    return this.#db.run<FoundRow>(sql, sessionId, seq)[0];
  }

  insertWords(rowid: number, { words, forms }: { readonly words: string; readonly forms: string }): void {
    this.#db.run(`INSERT INTO palimpsest_search (rowid, words, forms) VALUES (${ROWID}, ?, ?)`, rowid, words, forms);
  }

  /** Records that only a part of a message is indexed. */
  insertPartial(rowid: number): void {
    this.#db.run("INSERT INTO palimpsest_search_partial (number) VALUES (?)", rowid);
  }

  /** The best matches, best first and newer ones first among equals. In one session when `n` is given. */
  matches(match: string, n: number | null, limit: number): MatchRow[] {
    const last = n === null ? Number.MAX_SAFE_INTEGER : lastOf(n);
    return this.matchesBetween(match, { first: rowidOf(n ?? 0, 0), last }, limit);
  }

  /** Like {@link matches}, among the messages with these numbers. */
  matchesBetween(match: string, { first, last }: { first: number; last: number }, limit: number): MatchRow[] {
    const sql = `SELECT rowid, rank FROM palimpsest_search
       WHERE palimpsest_search MATCH ? AND rowid BETWEEN ${ROWID} AND ${ROWID} ORDER BY rank, rowid DESC LIMIT ?`;
    return this.#db.run(sql, match, first, last, limit);
  }

  /** Matching messages with these numbers, newest first. Reads as many rows as it finds. */
  newestMatches(match: string, { first, last }: { first: number; last: number }, limit: number): number[] {
    const sql = `SELECT rowid FROM palimpsest_search
       WHERE palimpsest_search MATCH ? AND rowid BETWEEN ${ROWID} AND ${ROWID} ORDER BY rowid DESC LIMIT ?`;
    return this.#db.run<{ rowid: number }>(sql, match, first, last, limit).map(({ rowid }) => rowid);
  }

  /** The indexed text of a message. */
  words(rowid: number): string {
    const sql = `SELECT words FROM palimpsest_search WHERE rowid = ${ROWID}`;
    return this.#db.run<{ words: string }>(sql, rowid)[0]?.words ?? "";
  }
}
