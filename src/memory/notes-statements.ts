/**
 * Every statement on notes, one verb each; in the manner of statements.ts, whose meter it shares. A row for each version that
 * is kept, by its number.
 */
import type { Storage } from "./schema.ts";
import type { Meter } from "./statements.ts";

/**
 * `covers`: `none`, `unknown`, or `to`, which has the last message that is covered whole in `coveredId`. `coveredSeq` is the
 * place of the last message that it tells anything of: the same one, or a later one. `standing` is 0 once that text changed.
 */
export type NotesRow = {
  n: number;
  standing: number;
  covers: string;
  coveredSeq: number | null;
  coveredId: string | null;
  /** JSON: who wrote it, and the facts of what it covers. */
  details: string;
  createdAt: number;
  /** JSON: the sections. */
  sections: string;
};

const NOTES = `n, standing, covers, covered_seq AS coveredSeq, covered_id AS coveredId, details, created_at AS createdAt,
  sections`;

export class NotesStatements {
  readonly #sql: Storage["sql"];
  readonly #meter: Meter;

  constructor(sql: Storage["sql"], meter: Meter) {
    this.#sql = sql;
    this.#meter = meter;
  }

  /** Newest first. */
  notes(sessionId: string, limit: number): NotesRow[] {
    const sql = `SELECT ${NOTES} FROM palimpsest_notes WHERE session_id = ? ORDER BY n DESC LIMIT ?`;
    return this.#all<NotesRow>(sql, sessionId, limit);
  }

  lastNumber(sessionId: string): number {
    const sql = "SELECT n FROM palimpsest_notes WHERE session_id = ? ORDER BY n DESC LIMIT 1";
    return this.#all<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  /** Versions in force that tell of the message at `seq` or of a later one. Reads every version, of which few are kept. */
  standingFrom(sessionId: string, seq: number): { n: number; coveredSeq: number }[] {
    const sql = `SELECT n, covered_seq AS coveredSeq FROM palimpsest_notes
       WHERE session_id = ? AND standing = 1 AND covered_seq >= ?`;
    return this.#all(sql, sessionId, seq);
  }

  insert(sessionId: string, row: NotesRow): void {
    const sql = `INSERT INTO palimpsest_notes
         (session_id, n, standing, covers, covered_seq, covered_id, details, created_at, sections)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const { n, standing, covers, coveredSeq, coveredId, details, createdAt, sections } = row;
    this.#all(sql, sessionId, n, standing, covers, coveredSeq, coveredId, details, createdAt, sections);
  }

  withdraw(sessionId: string, n: number): void {
    this.#all("UPDATE palimpsest_notes SET standing = 0 WHERE session_id = ? AND n = ?", sessionId, n);
  }

  deleteUpTo(sessionId: string, n: number): void {
    this.#all("DELETE FROM palimpsest_notes WHERE session_id = ? AND n <= ?", sessionId, n);
  }

  #all<Found extends Record<string, SqlStorageValue>>(sql: string, ...bindings: SqlStorageValue[]): Found[] {
    const cursor = this.#sql.exec<Found>(sql, ...bindings);
    const rows = cursor.toArray();
    this.#meter.rowsRead += cursor.rowsRead;
    this.#meter.rowsWritten += cursor.rowsWritten;
    return rows;
  }
}
