/**
 * The statements that fill, search and empty the index of words, one verb each.
 *
 * The index is one FTS5 table over all sessions. A message's row number in it is `session * 2^31 + seq`. So a row is
 * found, replaced and deleted by its key, and a session's messages are one range of numbers. Messages that are indexed
 * only in part, and those to be indexed again after an edit, are listed beside it, by the same number.
 *
 * Its triggers take out what is forgotten, so words leave the index also where the room is gone. `secure-delete` removes the words of a
 * deleted row at once instead of at a later merge (S2). It rewrites a page for each word, so many bytes are removed without it, and the index
 * is merged after them in the same transaction, which leaves none of their words either.
 */
import type { Db } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";

export type SourceRow = { seq: number; id: string; role: string; parts: number; digest: string; content: string };
type FoundRow = { id: string; role: string; createdAt: number };

/** A range of the session's messages, both ends included. */
export interface SeqRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

export function isIn(ranges: readonly SeqRange[], seq: number): boolean {
  return ranges.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
}

/** A range of row numbers in the index, both ends included. */
export interface Stretch {
  readonly first: number;
  readonly last: number;
}

/** How far a session is indexed. `n` is its number in the index. `noted` is null while a search is still indexing it. */
export type IndexedRow = { n: number; noted: number | null; indexedTo: number };

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

export function readRowid(rowid: number): { n: number; seq: number } {
  return { n: Math.floor(rowid / SESSION_SIZE), seq: rowid % SESSION_SIZE };
}

/** From so many bytes on, removing them row by row would keep an object for more than a tenth of a second. */
const LEAST_AT_ONCE = 200_000;
/** Merging this many times the bytes takes as long as removing them row by row. */
const MERGED_FOR_ONE = 64;
/** Most bytes of a block of the index. */
const BLOCK_BYTES = 4_096;

/** The body of a trigger that removes the rows which this condition on their number finds, in the way that takes less time. */
function removing(which: string): string {
  // Reads the sizes of texts, not the texts.
  const bytes = `(SELECT coalesce(sum(octet_length(c0) + octet_length(c1)), 0) FROM palimpsest_search_content WHERE id ${which})`;
  const blocks = `${bytes} / ${BLOCK_BYTES / MERGED_FOR_ONE}`;
  const held = `(SELECT count(*) FROM (SELECT 1 FROM palimpsest_search_data LIMIT ${blocks} + 1))`;
  const atOnce = `${bytes} >= ${LEAST_AT_ONCE} AND ${held} <= ${blocks}`;
  const isAtOnce = "(SELECT v FROM palimpsest_search_config WHERE k = 'secure-delete') = 0";
  return `
    INSERT INTO palimpsest_search (palimpsest_search, rank) SELECT 'secure-delete', 0 WHERE ${atOnce};
    DELETE FROM palimpsest_search WHERE rowid ${which};
    INSERT INTO palimpsest_search (palimpsest_search) SELECT 'optimize' WHERE ${isAtOnce};
    INSERT INTO palimpsest_search (palimpsest_search, rank) SELECT 'secure-delete', 1 WHERE ${isAtOnce};`;
}

/** The session's number, and the row numbers of the messages that are forgotten. */
const N = "(SELECT n FROM palimpsest_searched_sessions WHERE session_id = NEW.session_id)";
const NUMBERS = `SELECT (${N} << 31) + value FROM json_each(NEW.seqs)`;
const IN_SESSION = `BETWEEN ${N} << 31 AND (${N} + 1 << 31) - 1`;
const IS_SEARCHED = "EXISTS (SELECT 1 FROM palimpsest_searched_sessions WHERE session_id = NEW.session_id)";

defineTables("wordIndex", [
  // How far each session is indexed. A session has no row until it is first searched. NULL while a search lets other work in between.
  `CREATE TABLE palimpsest_searched_sessions (
     n          INTEGER PRIMARY KEY,
     session_id TEXT NOT NULL UNIQUE,
     indexed_to INTEGER
   )`,
  `CREATE VIRTUAL TABLE palimpsest_search USING fts5 (words, forms, tokenize = 'unicode61 remove_diacritics 2')`,
  "INSERT INTO palimpsest_search (palimpsest_search, rank) VALUES ('secure-delete', 1)",
  // Messages that are too long to be indexed whole.
  "CREATE TABLE palimpsest_search_partial (number INTEGER PRIMARY KEY)",
  // Messages that were indexed and edited since.
  "CREATE TABLE palimpsest_search_edited (number INTEGER PRIMARY KEY)",
  `CREATE TRIGGER palimpsest_search_is_edited INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'edited' AND ${IS_SEARCHED} BEGIN
       INSERT OR IGNORE INTO palimpsest_search_edited SELECT (n << 31) + value
         FROM palimpsest_searched_sessions, json_each(NEW.seqs) WHERE session_id = NEW.session_id AND
           (value <= indexed_to OR EXISTS (SELECT 1 FROM palimpsest_search WHERE rowid = (n << 31) + value));
       ${removing(`IN (${NUMBERS})`)}
       DELETE FROM palimpsest_search_partial WHERE number IN (${NUMBERS});
     END`,
  `CREATE TRIGGER palimpsest_search_deleted INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'deleted' AND ${IS_SEARCHED} BEGIN
       ${removing(`IN (${NUMBERS})`)}
       DELETE FROM palimpsest_search_partial WHERE number IN (${NUMBERS});
       DELETE FROM palimpsest_search_edited WHERE number IN (${NUMBERS});
     END`,
  `CREATE TRIGGER palimpsest_search_cleared INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'cleared' AND ${IS_SEARCHED} BEGIN
       ${removing(IN_SESSION)}
       DELETE FROM palimpsest_search_partial WHERE number ${IN_SESSION};
       DELETE FROM palimpsest_search_edited WHERE number ${IN_SESSION};
       DELETE FROM palimpsest_searched_sessions WHERE session_id = NEW.session_id;
     END`,
]);

const SOURCE = "SELECT seq, id, role, parts, digest, content FROM palimpsest_messages WHERE session_id = ?";

export class SearchStatements {
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

  partialBetween({ first, last }: Stretch): number[] {
    const sql = "SELECT number FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?";
    return this.#db.run<{ number: number }>(sql, first, last).map(({ number }) => number);
  }

  /** A message of the session that was edited since it was indexed. */
  edited(n: number): number | null {
    const sql = "SELECT number FROM palimpsest_search_edited WHERE number BETWEEN ? AND ? LIMIT 1";
    return this.#db.run<{ number: number }>(sql, rowidOf(n, 0), lastOf(n))[0]?.number ?? null;
  }

  deleteEdited(number: number): void {
    this.#db.run("DELETE FROM palimpsest_search_edited WHERE number = ?", number);
  }

  /** A message by its number. */
  source(sessionId: string, seq: number): SourceRow | undefined {
    return this.#db.run<SourceRow>(`${SOURCE} AND seq = ?`, sessionId, seq)[0];
  }

  sessionIds(): { sessionId: string }[] {
    return this.#db.run("SELECT session_id AS sessionId FROM palimpsest_sessions");
  }

  /** Gives the session a number in the index. */
  insertIndexed(sessionId: string): number {
    const sql = "INSERT INTO palimpsest_searched_sessions (session_id) VALUES (?) RETURNING n";
    return this.#db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  setIndexedTo(n: number, seq: number | null): void {
    this.#db.run("UPDATE palimpsest_searched_sessions SET indexed_to = ? WHERE n = ?", seq, n);
  }

  /** The first message after `seq`. Reads one at a time, because a message may take megabytes. */
  messageAfter(sessionId: string, seq: number): SourceRow | undefined {
    return this.#db.run<SourceRow>(`${SOURCE} AND seq > ? ORDER BY seq LIMIT 1`, sessionId, seq)[0];
  }

  message(sessionId: string, seq: number): FoundRow | undefined {
    const sql = "SELECT id, role, created_at AS createdAt FROM palimpsest_messages WHERE session_id = ? AND seq = ?";
    return this.#db.run<FoundRow>(sql, sessionId, seq)[0];
  }

  insertWords(rowid: number, { words, forms }: { readonly words: string; readonly forms: string }): void {
    this.#db.run(`REPLACE INTO palimpsest_search (rowid, words, forms) VALUES (${ROWID}, ?, ?)`, rowid, words, forms);
  }

  /** Records that only a part of a message is indexed. */
  insertPartial(rowid: number): void {
    this.#db.replace("palimpsest_search_partial", { number: rowid });
  }

  /** The best matches with numbers in this range, best first and newer ones first among equals. */
  matches(match: string, { first, last }: Stretch, limit: number): { rowid: number; rank: number }[] {
    const sql = `SELECT rowid, rank FROM palimpsest_search
       WHERE palimpsest_search MATCH ? AND rowid BETWEEN ${ROWID} AND ${ROWID} ORDER BY rank, rowid DESC LIMIT ?`;
    return this.#db.run(sql, match, first, last, limit);
  }

  /** Matching messages with these numbers, newest first. Reads as many rows as it finds. */
  newestMatches(match: string, { first, last }: Stretch, limit: number): number[] {
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
