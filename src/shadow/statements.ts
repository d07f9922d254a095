/**
 * The statements on shadows, one verb each. `record` holds numbers, ids and codes. Everything that may quote the conversation is in `words`,
 * which the tables drop by themselves when it is no longer true (src/memory/schema.ts).
 */
import type { Db } from "../memory/db.ts";
import type { ShadowRecord, ShadowRow, ShadowWords } from "./record.ts";

type Stored = { n: number; name: string; overlayId: string; record: string; words: string | null };

const COLUMNS = "n, name, overlay_id AS overlayId, record, words";

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
    const sql = `INSERT OR REPLACE INTO palimpsest_shadows (session_id, n, name, overlay_id, record, words)
       VALUES (?, ?, ?, ?, ?, ?)`;
    const texts = [JSON.stringify(record), words === null ? null : JSON.stringify(words)] as const;
    this.#db.run(sql, sessionId, n, name, overlayId, ...texts);
  }

  /** Notes that the Workflow of this run has shadows to do. */
  open(runId: string, sessionId: string): void {
    this.#db.run("INSERT OR IGNORE INTO palimpsest_shadow_runs (run_id, session_id) VALUES (?, ?)", runId, sessionId);
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
    const sql = `INSERT INTO palimpsest_shadow_spend (day, name, tokens) VALUES (?, ?, ?)
       ON CONFLICT (day, name) DO UPDATE SET tokens = tokens + excluded.tokens`;
    this.#db.run(sql, day, name, tokens);
  }
}

function readRow({ record, words, ...row }: Stored): ShadowRow {
  return {
    ...row,
    record: JSON.parse(record) as ShadowRecord,
    words: words === null ? null : (JSON.parse(words) as ShadowWords),
  };
}
