/**
 * The statements on notes, one verb each. Each kept version has a row, keyed by its number.
 */
import type { Db } from "../db.ts";

/**
 * `covers` is `none`, `unknown` or `to`. With `to` the coverage ends with a step of the message `coveredId`. `toldSeq`
 * and `toldStep` are the last place that the version describes, which is the covered end or a later place.
 * `standing` is 0 once a message that it describes changed. A null step means the message's end, including steps added
 * later.
 */
export type NotesRow = {
  n: number;
  standing: number;
  covers: string;
  toldSeq: number | null;
  toldStep: number | null;
  coveredId: string | null;
  coveredStep: number | null;
  /** JSON with the author and the facts of the covered messages. */
  details: string;
  createdAt: number;
  /** JSON with the sections. */
  sections: string;
};

const NOTES = `n, standing, covers, told_seq AS toldSeq, told_step AS toldStep, covered_id AS coveredId,
  covered_step AS coveredStep, details, created_at AS createdAt, sections`;

export class NotesStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Newest first. */
  notes(sessionId: string, limit: number): NotesRow[] {
    const sql = `SELECT ${NOTES} FROM palimpsest_notes WHERE session_id = ? ORDER BY n DESC LIMIT ?`;
    return this.#db.run<NotesRow>(sql, sessionId, limit);
  }

  lastNumber(sessionId: string): number {
    const sql = "SELECT n FROM palimpsest_notes WHERE session_id = ? ORDER BY n DESC LIMIT 1";
    return this.#db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  /** Versions in force that describe the message at `seq` or a later one. Reads every version, of which few are kept. */
  standingFrom(sessionId: string, seq: number): { n: number; toldSeq: number; toldStep: number | null }[] {
    const sql = `SELECT n, told_seq AS toldSeq, told_step AS toldStep FROM palimpsest_notes
       WHERE session_id = ? AND standing = 1 AND told_seq >= ?`;
    return this.#db.run(sql, sessionId, seq);
  }

  insert(sessionId: string, row: NotesRow): void {
    const sql = `INSERT INTO palimpsest_notes
         (session_id, n, standing, covers, told_seq, told_step, covered_id, covered_step, details, created_at, sections)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const { n, standing, covers, toldSeq, toldStep, coveredId, coveredStep, details, createdAt, sections } = row;
    const covered = [covers, toldSeq, toldStep, coveredId, coveredStep];
    this.#db.run(sql, sessionId, n, standing, ...covered, details, createdAt, sections);
  }

  withdraw(sessionId: string, n: number): void {
    this.#db.run("UPDATE palimpsest_notes SET standing = 0 WHERE session_id = ? AND n = ?", sessionId, n);
  }

  /** Summaries in force that contain this text. */
  summariesWith(sessionId: string, text: string): string[] {
    const sql = `SELECT summary FROM palimpsest_overlays
       WHERE session_id = ? AND state = 'active' AND instr(summary, ?) > 0`;
    return this.#db.run<{ summary: string }>(sql, sessionId, text).map(({ summary }) => summary);
  }

  delete(sessionId: string, n: number): void {
    this.#db.run("DELETE FROM palimpsest_notes WHERE session_id = ? AND n = ?", sessionId, n);
  }
}
