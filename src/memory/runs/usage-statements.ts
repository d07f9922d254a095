/**
 * The statements on the token counts of model calls, one verb each. Each model of a session has one row, found and
 * replaced by its key. The rows hold numbers and model names, and no text of a conversation.
 */
import type { Calibration } from "../../steps/tokens/calibrate.ts";
import type { Db } from "../db.ts";

/** Sums over the calls of one model, and the calibration of the session's estimates learned from them. */
export type UsageRow = { [Field in keyof Calibration]: number } & {
  model: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** Epoch ms of the newest call. */
  recordedAt: number;
};

const USAGE = `model, calls, input_tokens AS inputTokens, output_tokens AS outputTokens, counted_growth AS countedGrowth,
  estimated_growth AS estimatedGrowth, last_counted AS lastCounted, last_estimate AS lastEstimate,
  recorded_at AS recordedAt`;

export class UsageStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The last called model comes first. */
  usage(sessionId: string): UsageRow[] {
    const sql = `SELECT ${USAGE} FROM palimpsest_usage WHERE session_id = ? ORDER BY recorded_at DESC, model`;
    return this.#db.run<UsageRow>(sql, sessionId);
  }

  putUsage(sessionId: string, row: UsageRow): void {
    const sql = `INSERT OR REPLACE INTO palimpsest_usage
         (session_id, model, calls, input_tokens, output_tokens, counted_growth, estimated_growth, last_counted,
          last_estimate, recorded_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const sums = [row.calls, row.inputTokens, row.outputTokens];
    const learned = [row.countedGrowth, row.estimatedGrowth, row.lastCounted, row.lastEstimate];
    this.#db.run(sql, sessionId, row.model, ...sums, ...learned, row.recordedAt);
  }

  /** Copies the calibration without the sums, because the new session has made no call yet. */
  copyUsage(from: string, to: string): void {
    const learned = "counted_growth, estimated_growth, last_counted, last_estimate, recorded_at";
    const sql = `INSERT INTO palimpsest_usage (session_id, model, calls, input_tokens, output_tokens, ${learned})
       SELECT ?, model, 0, 0, 0, ${learned} FROM palimpsest_usage WHERE session_id = ?`;
    this.#db.run(sql, to, from);
  }

  deleteUsage(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_usage WHERE session_id = ?", sessionId);
  }
}
