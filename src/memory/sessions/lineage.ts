/**
 * Finds the session in which a conversation continues after an earlier one ended.
 *
 * Follows links and changes none. sessions.ts sets the links when a session is split, and closes the gap when one is
 * deleted. A session is only ever continued by a later one, so following the links ends.
 */
import { PalimpsestError } from "../../errors.ts";
import type { Statements } from "../statements.ts";

/**
 * The newest session of the conversation, or the session itself while it goes on. Reads a row for each session on the
 * way.
 */
export function findNewest(sql: Statements, sessionId: string): string {
  let newest = sessionId;
  for (let next = sql.session(sessionId)?.continuedBy; next != null; next = sql.session(next)?.continuedBy)
    newest = next;
  return newest;
}

/** The session that this one continues, if it still exists. Only a split makes such a link, a fork does not. */
export function findEarlier(sql: Statements, sessionId: string): string | null {
  const parent = sql.parentSession(sessionId);
  return parent !== null && sql.session(parent)?.continuedBy === sessionId ? parent : null;
}

/** The error for a write to an ended session. */
export function sessionEnded(sql: Statements, sessionId: string): PalimpsestError {
  const newest = findNewest(sql, sessionId);
  const advice =
    newest === sessionId
      ? "The one that it went on in was deleted: fork it to go on from here."
      : `It goes on in "${newest}": write there.`;
  return new PalimpsestError("session_ended", `Session "${sessionId}" has ended and is only read. ${advice}`);
}
