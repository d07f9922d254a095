/**
 * The statements on shadows, one verb each. `record` holds numbers, ids and codes. Everything that may quote the conversation is in `words`,
 * which the tables drop by themselves when it is no longer true.
 */
import { ADDED_UP, columns, type Db } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";
import type { ShadowRecord, ShadowRow, ShadowWords } from "./record.ts";

type Stored = { n: number; name: string; overlayId: string; record: string; words: string | null };

const COLUMNS = columns("n", "name", "overlayId", "record", "words");

// Summaries that nobody is shown, by the overlay that they stand beside.
// `words` has all of a row that may quote the conversation. It goes when the overlay leaves force, or another one whose
// hidden words are among its names.
defineTables("shadows", [
  `CREATE TABLE palimpsest_shadows (
     session_id TEXT NOT NULL,
     n          INTEGER NOT NULL,
     name       TEXT NOT NULL,
     overlay_id TEXT NOT NULL,
     record     TEXT NOT NULL,
     words      TEXT,
     PRIMARY KEY (session_id, n, name)
   ) WITHOUT ROWID`,
  `CREATE TRIGGER palimpsest_shadows_forget AFTER UPDATE OF state ON palimpsest_overlays WHEN NEW.state <> 'active' BEGIN
     UPDATE palimpsest_shadows SET words = NULL WHERE session_id = NEW.session_id AND words IS NOT NULL
       AND (overlay_id = NEW.overlay_id OR instr(words, '"' || NEW.overlay_id || '"') > 0);
   END`,
  // Runs whose Workflow has shadows to do. The watchdog looks at them until it has ended.
  `CREATE TABLE palimpsest_shadow_runs (
     run_id     TEXT PRIMARY KEY,
     session_id TEXT NOT NULL
   ) WITHOUT ROWID`,
  `CREATE TABLE palimpsest_shadow_spend (
     day    INTEGER NOT NULL,
     name   TEXT NOT NULL,
     tokens INTEGER NOT NULL,
     PRIMARY KEY (day, name)
   ) WITHOUT ROWID`,
]);

export class ShadowStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The newest rows of a session, newest overlay first. */
  newest(sessionId: string, limit: number): ShadowRow[] {
    const sql = `SELECT ${COLUMNS} FROM palimpsest_shadows WHERE session_id = ? ORDER BY n DESC, name LIMIT ?`;
    return this.#db.run<Stored>(sql, sessionId, limit).map(readRow);
  }

  /** The rows beside one overlay, by its number. */
  beside(sessionId: string, n: number): ShadowRow[] {
    const sql = `SELECT ${COLUMNS} FROM palimpsest_shadows WHERE session_id = ? AND n = ? ORDER BY name`;
    return this.#db.run<Stored>(sql, sessionId, n).map(readRow);
  }

  find(sessionId: string, { n, name }: { readonly n: number; readonly name: string }): ShadowRow | null {
    const sql = `SELECT ${COLUMNS} FROM palimpsest_shadows WHERE session_id = ? AND n = ? AND name = ?`;
    const [found] = this.#db.run<Stored>(sql, sessionId, n, name);
    return found === undefined ? null : readRow(found);
  }

  put(sessionId: string, { n, name, overlayId, record, words }: ShadowRow): void {
    const texts = { record: JSON.stringify(record), words: words === null ? null : JSON.stringify(words) };
    this.#db.replace("palimpsest_shadows", { sessionId, n, name, overlayId, ...texts });
  }

  /** Notes that the Workflow of this run has shadows to do. */
  open(runId: string, sessionId: string): void {
    this.#db.insert("palimpsest_shadow_runs", { runId, sessionId }, "ON CONFLICT DO NOTHING");
  }

  /** Ids of runs whose Workflow has shadows to do. */
  openRuns(): string[] {
    return this.#db
      .run<{ runId: string }>("SELECT run_id AS runId FROM palimpsest_shadow_runs")
      .map(({ runId }) => runId);
  }

  close(runId: string): void {
    this.#db.run("DELETE FROM palimpsest_shadow_runs WHERE run_id = ?", runId);
  }

  /** Tokens that all shadows of this name cost in a day. */
  spend(day: number, name: string): number {
    const sql = "SELECT tokens FROM palimpsest_shadow_spend WHERE day = ? AND name = ?";
    return this.#db.run<{ tokens: number }>(sql, day, name)[0]?.tokens ?? 0;
  }

  /** Adds to a day's spend. Deletes earlier days, because budgets count the current one alone. */
  addSpend(day: number, name: string, tokens: number): void {
    this.#db.run("DELETE FROM palimpsest_shadow_spend WHERE day < ?", day);
    this.#db.insert("palimpsest_shadow_spend", { day, name, tokens }, ADDED_UP);
  }
}

function readRow({ record, words, ...row }: Stored): ShadowRow {
  return {
    ...row,
    record: JSON.parse(record) as ShadowRecord,
    words: words === null ? null : (JSON.parse(words) as ShadowWords),
  };
}
