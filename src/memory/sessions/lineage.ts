/**
 * In which session a conversation goes on, once the one that it began in has ended.
 *
 * Boundary: follows links and changes none; sessions.ts sets them when a session is split, and closes the gap when one is
 * deleted. Safe because a session is only ever continued by one that was made later, so following the links ends.
 */
import { PalimpsestError } from "../../errors.ts";
import type { Statements } from "../statements.ts";

/** The newest session of the conversation; the session itself while it goes on. Reads a row for each on the way. */
export function findNewest(sql: Statements, sessionId: string): string {
  let newest = sessionId;
  for (let next = sql.session(sessionId)?.continuedBy; next != null; next = sql.session(next)?.continuedBy)
    newest = next;
  return newest;
}

/** The session that this one goes on from, if it is there: one that was split, never one that was only forked. */
export function findEarlier(sql: Statements, sessionId: string): string | null {
  const parent = sql.parentSession(sessionId);
  return parent !== null && sql.session(parent)?.continuedBy === sessionId ? parent : null;
}

/** What a write to an ended session is answered. */
export function sessionEnded(sql: Statements, sessionId: string): PalimpsestError {
  const newest = findNewest(sql, sessionId);
  const advice =
    newest === sessionId
      ? "The one that it went on in was deleted: fork it to go on from here."
      : `It goes on in "${newest}": write there.`;
  return new PalimpsestError("session_ended", `Session "${sessionId}" has ended and is only read. ${advice}`);
}
