/**
 * The statements on notes, one verb each. Each kept version has a row, keyed by its number.
 */
import { columns, type Db } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";

/**
 * `covers` is `none`, `unknown` or `to`. With `to` the coverage ends with a step of the message `coveredId`. `lastSeq`
 * and `lastStep` are the last place that the version describes, which is the covered end or a later place.
 * `standing` is 0 once a message that it describes changed. A null step means the message's end, including steps added
 * later.
 */
export type NotesRow = {
  n: number;
  standing: number;
  covers: string;
  lastSeq: number | null;
  lastStep: number | null;
  coveredId: string | null;
  coveredStep: number | null;
  /** JSON with the author and the facts of the covered messages. */
  details: string;
  createdAt: number;
  /** JSON with the sections. */
  sections: string;
};

const PLACES = ["lastSeq", "lastStep", "coveredId", "coveredStep"];
const NOTES = columns("n", "standing", "covers", ...PLACES, "details", "createdAt", "sections");

const KEPT = "n, standing, covers, last_seq, last_step, covered_id, covered_step, created_at, sections, details";

// The last versions of each session's notes. `last_seq` and `last_step` are the last place that a version describes,
// because a message may grow after that step. Without `last_step` it describes the message to its end.
defineTables("noteVersions", [
  `CREATE TABLE palimpsest_notes (
     session_id   TEXT NOT NULL,
     n            INTEGER NOT NULL,
     standing     INTEGER NOT NULL,
     covers       TEXT NOT NULL,
     last_seq     INTEGER,
     last_step    INTEGER,
     covered_id   TEXT,
     covered_step INTEGER,
     created_at   INTEGER NOT NULL,
     sections     TEXT NOT NULL,
     details      TEXT NOT NULL,
     PRIMARY KEY (session_id, n)
   ) WITHOUT ROWID`,
]);

export class NotesStatements {
  readonly #db: Db;

  /** @internal */
  constructor(db: Db) {
    this.#db = db;
  }

  /** Newest first. */
  notes(sessionId: string, limit: number): NotesRow[] {
    const sql = `SELECT ${NOTES} FROM palimpsest_notes WHERE session_id = ? ORDER BY n DESC LIMIT ?`;
    return this.#db.run<NotesRow>(sql, sessionId, limit);
  }

  /** Copies the versions in force to a session that has the same messages under the same numbers, as far as it has them. */
  copy(from: string, to: string): void {
    const sql = `INSERT INTO palimpsest_notes (session_id, ${KEPT})
       SELECT ?, ${KEPT} FROM palimpsest_notes AS notes
       WHERE session_id = ? AND standing = 1 AND (last_seq IS NULL OR EXISTS (
         SELECT 1 FROM palimpsest_messages AS copied WHERE copied.session_id = ? AND copied.seq = notes.last_seq))`;
    this.#db.run(sql, to, from, to);
  }

  lastNumber(sessionId: string): number {
    const sql = "SELECT n FROM palimpsest_notes WHERE session_id = ? ORDER BY n DESC LIMIT 1";
    return this.#db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  insert(sessionId: string, row: NotesRow): void {
    this.#db.insert("palimpsest_notes", { sessionId, ...row });
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
