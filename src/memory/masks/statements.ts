/** The statements on masks, one verb each. Each edit has one row, and each place at most one. */
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { columns, type Db } from "../db.ts";
import type { Place } from "../messages/place.ts";

export type MaskRow = {
  /** Outputs up to this step of this message are masked. */
  toSeq: number;
  toStep: number;
  /** The view's last step when the edit was made. */
  topSeq: number;
  topStep: number;
  /** Tokens of the names beside a stub. */
  tokens: number;
  /** Those names as JSON. Null where they are to be chosen anew. */
  names: string | null;
  /** The step of that stub. */
  namesSeq: number;
  namesStep: number;
  /** JSON with the words of each stub that came with this edit, by reference. Null for an output that is shown whole. */
  stubs: string;
  createdAt: number;
};

const NAMES = "tokens, names, names_seq, names_step";
const MASK = columns(
  "toSeq",
  "toStep",
  "topSeq",
  "topStep",
  "tokens",
  "names",
  "namesSeq",
  "namesStep",
  "stubs",
  "createdAt",
);

export class MaskStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The furthest mask from a message to a place. Reads one row. */
  furthest(sessionId: string, fromSeq: number, to: Place): MaskRow | undefined {
    const sql = `SELECT ${MASK} FROM palimpsest_masks WHERE session_id = ? AND to_seq >= ? AND (to_seq, to_step) <= (?, ?)
       ORDER BY to_seq DESC, to_step DESC LIMIT 1`;
    return this.#db.run<MaskRow>(sql, sessionId, fromSeq, to.seq, to.step)[0];
  }

  /** The masks at and behind a place, the nearest first. Reads a row each. */
  from(sessionId: string, { seq, step }: Place): Generator<MaskRow> {
    const sql = `SELECT ${MASK} FROM palimpsest_masks WHERE session_id = ? AND (to_seq, to_step) >= (?, ?)
       ORDER BY to_seq, to_step`;
    return this.#db.each<MaskRow>(sql, sessionId, seq, step);
  }

  insert(sessionId: string, row: MaskRow): void {
    this.#db.insert("palimpsest_masks", { sessionId, ...row });
  }

  /** Changes the mask at a place. Changes nothing if another mask stands at its new one. */
  change(sessionId: string, at: Place, row: MaskRow): void {
    const sql = `UPDATE OR IGNORE palimpsest_masks SET (to_seq, to_step, top_step, ${NAMES}, stubs) = (?, ?, ?, ?, ?, ?, ?, ?)
       WHERE session_id = ? AND to_seq = ? AND to_step = ?`;
    const { toSeq, toStep, topStep, tokens, names, namesSeq, namesStep, stubs } = row;
    const named = [tokens, names, namesSeq, namesStep];
    this.#db.run(sql, toSeq, toStep, topStep, ...named, stubs, sessionId, at.seq, at.step);
  }

  remove(sessionId: string, at: Place): void {
    const sql = "DELETE FROM palimpsest_masks WHERE session_id = ? AND to_seq = ? AND to_step = ?";
    this.#db.run(sql, sessionId, at.seq, at.step);
  }

  /** Copies the masks that end in one of the messages. The copy has no message after `lastSeq`. */
  copy(
    from: string,
    to: string,
    { fromSeq, toSeq, lastSeq }: { readonly fromSeq: number; readonly toSeq: number; readonly lastSeq: number },
  ): void {
    const sql = `INSERT INTO palimpsest_masks (session_id, to_seq, to_step, top_seq, top_step, ${NAMES}, stubs, created_at)
       SELECT ?, to_seq, to_step, MIN(top_seq, ?), CASE WHEN top_seq > ? THEN ? ELSE top_step END, ${NAMES}, stubs, created_at
       FROM palimpsest_masks WHERE session_id = ? AND to_seq BETWEEN ? AND ?`;
    this.#db.run(sql, to, lastSeq, lastSeq, WHOLE_MESSAGE, from, fromSeq, toSeq);
  }
}
