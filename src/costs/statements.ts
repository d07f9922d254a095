/**
 * The statements on what model calls cost, one verb each. Each model of a session has a row as the agent's own and one
 * as a summariser. The rows hold numbers and model names, and no text of a conversation.
 */
import type { Db } from "../memory/db.ts";

/** Sums over the calls of one model of a session. */
export type CostRow = {
  model: string;
  /** 1 for a summariser, 0 for the agent's own model. */
  summarises: number;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that was read from the provider's cache, and the part that was written to it. */
  cachedTokens: number;
  writtenTokens: number;
  /** Input as it would have been without compaction, and the part of it that the call before would have left in the cache. */
  wholeTokens: number;
  wholeCached: number;
  /** That input at the last call. */
  lastWhole: number;
  /** The newest message at the last call, and the estimated tokens of the path before it. */
  pathSeq: number;
  pathTokens: number;
};

const SUMS = `calls, input_tokens AS inputTokens, output_tokens AS outputTokens, cached_tokens AS cachedTokens,
  written_tokens AS writtenTokens, whole_tokens AS wholeTokens, whole_cached AS wholeCached, last_whole AS lastWhole,
  path_seq AS pathSeq, path_tokens AS pathTokens`;

export class CostStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  costs(sessionId: string): CostRow[] {
    const sql = `SELECT model, summarises, ${SUMS} FROM palimpsest_costs WHERE session_id = ? ORDER BY summarises, model`;
    return this.#db.run<CostRow>(sql, sessionId);
  }

  cost(sessionId: string, { model, summarises }: Pick<CostRow, "model" | "summarises">): CostRow | null {
    const sql = `SELECT model, summarises, ${SUMS} FROM palimpsest_costs
       WHERE session_id = ? AND model = ? AND summarises = ?`;
    return this.#db.run<CostRow>(sql, sessionId, model, summarises)[0] ?? null;
  }

  put(sessionId: string, row: CostRow): void {
    const sql = `INSERT OR REPLACE INTO palimpsest_costs
         (session_id, model, summarises, calls, input_tokens, output_tokens, cached_tokens, written_tokens,
          whole_tokens, whole_cached, last_whole, path_seq, path_tokens)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const sent = [row.calls, row.inputTokens, row.outputTokens, row.cachedTokens, row.writtenTokens];
    const whole = [row.wholeTokens, row.wholeCached, row.lastWhole, row.pathSeq, row.pathTokens];
    this.#db.run(sql, sessionId, row.model, row.summarises, ...sent, ...whole);
  }

  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_costs WHERE session_id = ?", sessionId);
  }
}
