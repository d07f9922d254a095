/**
 * The numbered versions that a room keeps of texts about a session's messages, as far as edits and deletions concern them.
 *
 * This is in the core because it must hold whether or not the room is still added. A version that describes a message is out of use once
 * that message changes (C3).
 */
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import type { Db } from "./db.ts";
import type { Tree } from "./messages/tree.ts";
import type { Steps } from "./messages/content.ts";
import type { ShapeRow } from "./statements.ts";

type StandingRow = { n: number; lastSeq: number; lastStep: number | null };

export class Versions {
  readonly #db: Db;
  readonly #tree: Tree;

  constructor(db: Db, tree: Tree) {
    this.#db = db;
    this.#tree = tree;
  }

  /**
   * Withdraws every version that describes one of the rows, before the rows change. `keeps` says whether these steps of a row stay the
   * same. It is asked only for the last row that a version describes.
   */
  withdraw(rows: readonly ShapeRow[], keeps: (steps: Steps) => boolean = () => false): void {
    const { sessionId } = this.#tree;
    const oldest = rows.reduce((least, row) => Math.min(least, row.seq), Number.POSITIVE_INFINITY);
    for (const { n, lastSeq, lastStep } of this.#standingFrom(sessionId, oldest)) {
      const isOn = this.#tree.pathTo(lastSeq);
      const holds = rows
        .filter(({ seq }) => isOn(seq))
        .every(({ seq }) => seq === lastSeq && keeps({ fromStep: 0, toStep: lastStep ?? WHOLE_MESSAGE }));
      if (!holds) this.#db.run("UPDATE palimpsest_notes SET standing = 0 WHERE session_id = ? AND n = ?", sessionId, n);
    }
  }

  /** Versions in force that describe the message at `seq` or a later one. Reads every version, of which few are kept. */
  #standingFrom(sessionId: string, seq: number): StandingRow[] {
    const sql = `SELECT n, last_seq AS lastSeq, last_step AS lastStep FROM palimpsest_notes
       WHERE session_id = ? AND standing = 1 AND last_seq >= ?`;
    return this.#db.run<StandingRow>(sql, sessionId, seq);
  }
}
