/**
 * The statements on sessions as a whole, one verb each.
 *
 * memory/statements.ts owns the messages of a session. Only copies of whole sessions are made here, inside SQLite, so
 * that no message passes through memory.
 */
import { RECORD_PREFIX } from "../../steps/view/view.ts";
import type { Db } from "../db.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Statements } from "../statements.ts";

export type SessionRow = {
  id: string;
  name: string | null;
  createdAt: number;
  lastMessageAt: number | null;
  parentSessionId: string | null;
  model: string | null;
  source: string | null;
  /** JSON. */
  metadata: string | null;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  endedAt: number | null;
  endReason: string | null;
  continuedBy: string | null;
};

export type NewSession = Pick<
  SessionRow,
  "id" | "name" | "createdAt" | "parentSessionId" | "model" | "source" | "metadata"
>;

export type OpeningRow = { seq: number; id: string; role: string; parts: number; content: string };

/** Messages on a path that follow each other in the table. */
export interface Stretch {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** Messages at the start of a session that are searched for the first one by a user. */
const OPENING_MESSAGES = 10;

const SESSION = `each.session_id AS id, each.name, each.created_at AS createdAt,
  (SELECT last.created_at FROM palimpsest_messages AS last WHERE last.session_id = each.session_id
     ORDER BY last.seq DESC LIMIT 1) AS lastMessageAt,
  each.parent_session_id AS parentSessionId, each.model, each.source, each.metadata, each.input_tokens AS inputTokens,
  each.output_tokens AS outputTokens, each.cost, each.ended_at AS endedAt, each.end_reason AS endReason,
  each.continued_by AS continuedBy`;

export type SessionEnd = Required<{
  [Field in "endedAt" | "endReason" | "continuedBy"]: NonNullable<SessionRow[Field]>;
}>;

/** Columns that a copied message or overlay keeps. They leave out the session and the branch mark. */
const MESSAGE_ITSELF = "id, role, tokens, bytes, parts, digest, facts, created_at, content";
const MESSAGE_KEEPS = `seq, parent_seq, ${MESSAGE_ITSELF}`;
const OVERLAY_KEEPS = `n, overlay_id, state, from_seq, from_step, to_seq, to_step, from_id, to_id, tokens, span_tokens,
  span_messages, span_digest, run_id, details, created_at, summary, top_seq`;

export class SessionStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  session(sessionId: string): SessionRow | undefined {
    const sql = `SELECT ${SESSION} FROM palimpsest_sessions AS each WHERE each.session_id = ?`;
    return this.#db.run<SessionRow>(sql, sessionId)[0];
  }

  exists(sessionId: string): boolean {
    return this.#db.run("SELECT 1 FROM palimpsest_sessions WHERE session_id = ?", sessionId).length > 0;
  }

  /** Sessions before the given place, newest first. By creation an index leads to the page. By activity each session is looked at. */
  sessionsBefore(order: "activity" | "creation", before: { at: number; id: string }, limit: number): SessionRow[] {
    const sql =
      order === "creation"
        ? `SELECT ${SESSION} FROM palimpsest_sessions AS each INDEXED BY palimpsest_sessions_by_age
             WHERE (each.created_at, each.session_id) < (?, ?)
             ORDER BY each.created_at DESC, each.session_id DESC LIMIT ?`
        : `SELECT * FROM (SELECT ${SESSION} FROM palimpsest_sessions AS each)
             WHERE (coalesce(lastMessageAt, createdAt), id) < (?, ?)
             ORDER BY coalesce(lastMessageAt, createdAt) DESC, id DESC LIMIT ?`;
    return this.#db.run(sql, before.at, before.id, limit);
  }

  /** A user's first message, if it is among the first of the session. A stored record of a summary does not count. */
  opening(sessionId: string): OpeningRow | undefined {
    const sql = `SELECT seq, id, role, parts, content FROM palimpsest_messages WHERE session_id = ? AND seq =
       (SELECT seq FROM (SELECT seq, role, id FROM palimpsest_messages WHERE session_id = ? ORDER BY seq LIMIT ?)
        WHERE role = 'user' AND id NOT GLOB ? LIMIT 1)`;
    return this.#db.run<OpeningRow>(sql, sessionId, sessionId, OPENING_MESSAGES, `${RECORD_PREFIX}*`)[0];
  }

  insertSession(row: NewSession): void {
    const { id: sessionId, ...rest } = row;
    this.#db.insert("palimpsest_sessions", { sessionId, nextSeq: 0, ...rest });
  }

  setName(sessionId: string, name: string | null): void {
    this.#db.run("UPDATE palimpsest_sessions SET name = ? WHERE session_id = ?", name, sessionId);
  }

  addUsage(sessionId: string, usage: Pick<SessionRow, "inputTokens" | "outputTokens" | "cost">): void {
    const sql = `UPDATE palimpsest_sessions
       SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, cost = cost + ? WHERE session_id = ?`;
    this.#db.run(sql, usage.inputTokens, usage.outputTokens, usage.cost, sessionId);
  }

  endSession(sessionId: string, { endedAt, endReason, continuedBy }: SessionEnd): void {
    const sql = "UPDATE palimpsest_sessions SET ended_at = ?, end_reason = ?, continued_by = ? WHERE session_id = ?";
    this.#db.run(sql, endedAt, endReason, continuedBy, sessionId);
  }

  /**
   * Deletes the rows of a session whose content is gone (`Statements.clearSession`). Its children lose their parent.
   * The session that it continued is then continued by its own successor.
   */
  deleteSession(sessionId: string): void {
    const unlink = `UPDATE palimpsest_sessions SET parent_session_id = nullif(parent_session_id, ?1),
         continued_by = iif(continued_by = ?1,
           (SELECT gone.continued_by FROM palimpsest_sessions AS gone WHERE gone.session_id = ?1), continued_by)
       WHERE parent_session_id = ?1 OR continued_by = ?1`;
    // No other session names one without a row.
    if (this.exists(sessionId)) {
      this.#db.make("lineage");
      this.#db.run(unlink, sessionId);
    }
    this.#db.run("DELETE FROM palimpsest_runs WHERE session_id = ?", sessionId);
    this.#db.run("DELETE FROM palimpsest_sessions WHERE session_id = ?", sessionId);
  }

  /** Sessions that were forked or split from it. Reads every session's row. */
  children(sessionId: string): string[] {
    const sql = "SELECT session_id AS id FROM palimpsest_sessions WHERE parent_session_id = ?";
    return this.#db.run<{ id: string }>(sql, sessionId).map(({ id }) => id);
  }

  /** The session's drafts without their texts. */
  drafts(sessionId: string): { key: string; details: string }[] {
    return this.#db.run("SELECT key, details FROM palimpsest_drafts WHERE session_id = ?", sessionId);
  }

  // Copying for a fork. Places keep their numbers, so parents and overlays need no translation.

  /** In the copy each message hangs on the row before it, so none of them is marked as a branch. */
  copyMessages(from: string, to: string, { fromSeq, toSeq }: Stretch): void {
    const messages = `INSERT INTO palimpsest_messages (session_id, branch, ${MESSAGE_KEEPS})
       SELECT ?, 0, ${MESSAGE_KEEPS} FROM palimpsest_messages WHERE session_id = ? AND seq BETWEEN ? AND ?`;
    this.#db.run(messages, to, from, fromSeq, toSeq);
    const parts = `INSERT INTO palimpsest_message_parts (session_id, seq, part, content)
       SELECT ?, seq, part, content FROM palimpsest_message_parts WHERE session_id = ? AND seq BETWEEN ? AND ?`;
    this.#db.run(parts, to, from, fromSeq, toSeq);
  }

  /**
   * Copies the overlays in force that end in one of the messages. An overlay that ends on a path lies wholly on that
   * path.
   */
  copyActiveOverlays(from: string, to: string, { fromSeq, toSeq }: Stretch): void {
    const sql = `INSERT INTO palimpsest_overlays (session_id, ${OVERLAY_KEEPS})
       SELECT ?, ${OVERLAY_KEEPS} FROM palimpsest_overlays INDEXED BY palimpsest_active_overlays
       WHERE session_id = ? AND state = 'active' AND to_seq BETWEEN ? AND ?`;
    this.#db.run(sql, to, from, fromSeq, toSeq);
  }

  // Copying for a child that continues the session. Only visible messages are copied, numbered anew in path order.

  copyMessagesAs(from: string, to: string, { fromSeq, toSeq, firstSeq }: Stretch & { firstSeq: number }): void {
    const shift = fromSeq - firstSeq;
    const messages = `INSERT INTO palimpsest_messages (session_id, branch, seq, parent_seq, ${MESSAGE_ITSELF})
       SELECT ?1, 0, seq - ?2, nullif(seq - ?2 - 1, -1), ${MESSAGE_ITSELF}
       FROM palimpsest_messages WHERE session_id = ?3 AND seq BETWEEN ?4 AND ?5`;
    this.#db.run(messages, to, shift, from, fromSeq, toSeq);
    const parts = `INSERT INTO palimpsest_message_parts (session_id, seq, part, content)
       SELECT ?1, seq - ?2, part, content FROM palimpsest_message_parts WHERE session_id = ?3 AND seq BETWEEN ?4 AND ?5`;
    this.#db.run(parts, to, shift, from, fromSeq, toSeq);
  }
}

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
