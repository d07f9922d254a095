/** The statements that search the index and fill it, one verb each. Those that remove words stand with every agent. */
import type { Db } from "../../memory/db.ts";
import { defineTables } from "../../memory/schema.ts";
import { ForgetStatements, lastOf, ROWID, rowidOf } from "../../memory/search/statements.ts";

export type SourceRow = { seq: number; id: string; role: string; parts: number; digest: string; content: string };
export type MatchRow = { rowid: number; rank: number };
export type FoundRow = { id: string; role: string; createdAt: number };

defineTables("wordIndex", [
  // How far each session is indexed. A session has no row until it is first searched. NULL while a search lets other work in between.
  `CREATE TABLE palimpsest_searched_sessions (
     n          INTEGER PRIMARY KEY,
     session_id TEXT NOT NULL UNIQUE,
     indexed_to INTEGER
   )`,
  `CREATE VIRTUAL TABLE palimpsest_search USING fts5 (words, forms, tokenize = 'unicode61 remove_diacritics 2')`,
  "INSERT INTO palimpsest_search (palimpsest_search, rank) VALUES ('secure-delete', 1)",
]);

// Messages that are too long to be indexed whole. Few conversations have any, so the table is made with the first.
defineTables("partialWords", [`CREATE TABLE palimpsest_search_partial (number INTEGER PRIMARY KEY)`]);

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
    const sql = "INSERT INTO palimpsest_searched_sessions (session_id) VALUES (?) RETURNING n";
    return this.#db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  setIndexedTo(n: number, seq: number | null): void {
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
    this.#db.insert("palimpsest_search_partial", { number: rowid });
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
