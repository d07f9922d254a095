/**
 * The statements on what model calls cost, one verb each. Each model of a session has a row as the agent's own and one
 * as a summariser. The rows hold numbers and model names, and no text of a conversation.
 */
import type { Db } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";

/** Sums over the calls of one model of a session. */
export type CostRow = {
  model: string;
  /** 0 for the agent's own model, 1 for a summariser. */
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
  /**
   * The newest message at the last call, and the estimated tokens of the path before it. The message is -1 before a call, and once the
   * path was changed.
   */
  pathSeq: number;
  pathTokens: number;
};

type Stored = { model: string; summarises: number; sums: string };

defineTables("costs", [
  `CREATE TABLE palimpsest_costs (
     session_id TEXT NOT NULL,
     model      TEXT NOT NULL,
     summarises INTEGER NOT NULL,
     sums       TEXT NOT NULL,
     PRIMARY KEY (session_id, model, summarises)
   ) WITHOUT ROWID`,
]);

export class CostStatements {
  readonly #db: Db;

  /** @internal */
  constructor(db: Db) {
    this.#db = db;
  }

  costs(sessionId: string): CostRow[] {
    const sql = "SELECT model, summarises, sums FROM palimpsest_costs WHERE session_id = ? ORDER BY summarises, model";
    return this.#db.run<Stored>(sql, sessionId).map(readRow);
  }

  cost(sessionId: string, { model, summarises }: Pick<CostRow, "model" | "summarises">): CostRow | null {
    const sql = `SELECT model, summarises, sums FROM palimpsest_costs
       WHERE session_id = ? AND model = ? AND summarises = ?`;
    const [found] = this.#db.run<Stored>(sql, sessionId, model, summarises);
    return found === undefined ? null : readRow(found);
  }

  put(sessionId: string, { model, summarises, ...sums }: CostRow): void {
    this.#db.replace("palimpsest_costs", { sessionId, model, summarises, sums: JSON.stringify(sums) });
  }
}

function readRow({ sums, ...row }: Stored): CostRow {
  return { ...row, ...(JSON.parse(sums) as Omit<CostRow, "model" | "summarises">) };
}
