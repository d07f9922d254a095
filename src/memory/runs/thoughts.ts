/**
 * Which prompt each signed thought of a model was made on, as two digests. The rows hold no word of a conversation.
 *
 * A thought is found by its signature alone, because a fork and the child of a split hold messages of another session. It is kept under the
 * session that it was made in, and goes with that session's messages.
 */
import type { Db } from "../db.ts";

type ThoughtRow = { mark: string; prefix: string };

export class ThoughtsTable {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** The digests of what stood before these thoughts, by the marks of the thoughts. */
  prefixes(marks: readonly string[]): ReadonlyMap<string, string> {
    const sql = `SELECT mark, prefix FROM palimpsest_thoughts WHERE mark IN (SELECT value FROM json_each(?))`;
    const rows = marks.length === 0 ? [] : this.#db.run<ThoughtRow>(sql, JSON.stringify(marks));
    return new Map(rows.map(({ mark, prefix }) => [mark, prefix]));
  }

  put(sessionId: string, prefixes: ReadonlyMap<string, string>): void {
    if (prefixes.size === 0) return;
    this.#db.transaction(() => {
      for (const [mark, prefix] of prefixes) this.#db.replace("palimpsest_thoughts", { mark, sessionId, prefix });
    });
  }

  /** For a session whose messages are all deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_thoughts WHERE session_id = ?", sessionId);
  }
}
