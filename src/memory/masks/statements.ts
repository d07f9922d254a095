/** The statements on masks, one verb each. Each edit has one row. */
import type { Db } from "../db.ts";

export type MaskRow = {
  n: number;
  /** The line. Outputs up to this step of this message are masked. */
  toSeq: number;
  toStep: number;
  /** The view's last step when the edit was made. */
  topSeq: number;
  topStep: number;
  /** Tokens of the names beside the last stub. */
  tokens: number;
  /** Those names as JSON. */
  names: string;
  /** JSON with the words of each stub that came with this edit, by reference. Null for an output that is shown whole. */
  stubs: string;
  createdAt: number;
};

const MASK = `n, to_seq AS toSeq, to_step AS toStep, top_seq AS topSeq, top_step AS topStep, tokens, names, stubs,
  created_at AS createdAt`;
const MASK_KEEPS = "n, to_seq, to_step, top_seq, top_step, tokens, names, stubs, created_at";

export class MaskStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The furthest line first. */
  masks(sessionId: string): MaskRow[] {
    const sql = `SELECT ${MASK} FROM palimpsest_masks WHERE session_id = ? ORDER BY to_seq DESC, to_step DESC, n DESC`;
    return this.#db.run<MaskRow>(sql, sessionId);
  }

  insert(sessionId: string, row: MaskRow): void {
    const sql = `INSERT INTO palimpsest_masks (session_id, ${MASK_KEEPS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const { n, toSeq, toStep, topSeq, topStep, tokens, names, stubs, createdAt } = row;
    this.#db.run(sql, sessionId, n, toSeq, toStep, topSeq, topStep, tokens, names, stubs, createdAt);
  }

  change(sessionId: string, { n, toSeq, toStep, topStep, tokens, names, stubs }: MaskRow): void {
    const sql = `UPDATE palimpsest_masks SET to_seq = ?, to_step = ?, top_step = ?, tokens = ?, names = ?, stubs = ?
       WHERE session_id = ? AND n = ?`;
    this.#db.run(sql, toSeq, toStep, topStep, tokens, names, stubs, sessionId, n);
  }

  remove(sessionId: string, n: number): void {
    this.#db.run("DELETE FROM palimpsest_masks WHERE session_id = ? AND n = ?", sessionId, n);
  }

  /** Copies the masks whose line ends in one of the messages. */
  copy(from: string, to: string, { fromSeq, toSeq }: { readonly fromSeq: number; readonly toSeq: number }): void {
    const sql = `INSERT INTO palimpsest_masks (session_id, ${MASK_KEEPS})
       SELECT ?, ${MASK_KEEPS} FROM palimpsest_masks WHERE session_id = ? AND to_seq BETWEEN ? AND ?`;
    this.#db.run(sql, to, from, fromSeq, toSeq);
  }
}
