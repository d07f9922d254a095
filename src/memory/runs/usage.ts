/**
 * Token counts of each session's model calls, one row per model. The rows hold numbers and model names, and no text of a
 * conversation.
 */
import type { Calibration } from "../../steps/tokens/calibrate.ts";
import { columns, type Db } from "../db.ts";

/** Sums over the calls of one model, and the calibration of the session's estimates learned from them. */
export type UsageRow = { [Field in keyof Calibration]: number } & {
  model: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** Epoch ms of the newest call. */
  recordedAt: number;
};

const LEARNED = ["countedGrowth", "estimatedGrowth", "lastCounted", "lastEstimate", "recordedAt"] as const;
const USAGE = columns("model", "calls", "inputTokens", "outputTokens", ...LEARNED);

export class UsageTable {
  readonly #db: Db;
  /** Cached rows of sessions, so that a warm append reads none. */
  readonly #rows: Map<string, readonly UsageRow[]>;

  constructor(db: Db) {
    this.#db = db;
    this.#rows = db.cached(new Map());
  }

  /** The last called model comes first. */
  rows(sessionId: string): readonly UsageRow[] {
    const sql = `SELECT ${USAGE} FROM palimpsest_usage WHERE session_id = ? ORDER BY recorded_at DESC, model`;
    const rows = this.#rows.get(sessionId) ?? this.#db.run<UsageRow>(sql, sessionId);
    this.#rows.set(sessionId, rows);
    return rows;
  }

  put(sessionId: string, row: UsageRow): void {
    this.#db.replace("palimpsest_usage", { sessionId, ...row });
    this.#rows.delete(sessionId);
  }

  /**
   * Copies the calibration of another session to a new one, whose sums begin at 0, because it has made no call yet. Call it inside the
   * transaction that creates the session.
   */
  copy(from: string, to: string): void {
    for (const row of this.rows(from)) this.put(to, { ...row, calls: 0, inputTokens: 0, outputTokens: 0 });
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_usage WHERE session_id = ?", sessionId);
  }
}
