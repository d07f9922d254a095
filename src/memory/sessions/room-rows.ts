/**
 * Deletes what rooms stored for a session. The core does it, because a room whose tables have rows may no longer be added.
 *
 * A room reads and writes its tables by itself. S2: a session that is deleted leaves nothing in any of them.
 */
import type { Db } from "../db.ts";

/** The scope of a session's context blocks. The prefix keeps a session named "shared" apart from the shared scope. */
export function sessionScope(sessionId: string): string {
  return `session:${sessionId}`;
}

/** Call it for a session that is deleted. A clear keeps these rows, which hold no message. */
export function deleteRoomRows(db: Db, sessionId: string): void {
  db.run("DELETE FROM palimpsest_costs WHERE session_id = ?", sessionId);
  const scope = sessionScope(sessionId);
  const entries = "SELECT id FROM palimpsest_block_entries WHERE scope = ?";
  if (db.run(`${entries} LIMIT 1`, scope).length > 0) {
    db.run(`DELETE FROM palimpsest_block_index WHERE rowid IN (${entries})`, scope);
    // An index without texts of its own only marks deleted rows. Rewriting it removes their words (S2).
    db.run("INSERT INTO palimpsest_block_index (palimpsest_block_index) VALUES ('optimize')");
  }
  for (const table of ["block_entries", "blocks", "prompts", "loaded_skills"]) {
    db.run(`DELETE FROM palimpsest_${table} WHERE scope = ?`, scope);
  }
}
