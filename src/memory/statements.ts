/**
 * The statements on sessions, messages, fingerprints and overlays, one verb each.
 *
 * Typed rows go in and typed rows come out, and no statement decides anything. Values are always bound, never put into
 * the text. Each statement seeks a key or a range of one, so its cost is its result. {@link Db.meter} counts the rows,
 * and tests hold the totals to exact numbers.
 */
import { columns, type Db } from "./db.ts";

/** A message without its content. Walks, measures and plans need no more. */
export type ShapeRow = {
  seq: number;
  parentSeq: number | null;
  id: string;
  role: string;
  tokens: number;
  bytes: number;
  /** The number of rows that its content takes: 1, or more when it was split. Other values are in messages/content.ts. */
  parts: number;
  digest: string;
  facts: string;
  createdAt: number;
};

/** `content` is the message's JSON, or its first piece when it was split. */
export type ContentRow = ShapeRow & { content: string };

/** `continuedBy` is the session that continues an ended one. */
export type SessionCounters = { nextSeq: number; endedAt: number | null; continuedBy: string | null };

export type NewMessage = ContentRow & { branch: 0 | 1 };

export type OverlayRow = {
  n: number;
  overlayId: string;
  state: string;
  fromSeq: number;
  fromStep: number;
  toSeq: number;
  toStep: number;
  fromId: string;
  toId: string;
  tokens: number;
  spanTokens: number;
  spanMessages: number;
  spanDigest: string;
  runId: string | null;
  details: string;
  createdAt: number;
  summary: string;
  /** The `seq` of the session's newest message when the overlay was added. */
  topSeq: number;
  /** JSON, as described in overlays/overlay.ts. */
  changes: string;
};

const SHAPE = columns("seq", "parentSeq", "id", "role", "tokens", "bytes", "parts", "digest", "facts", "createdAt");
const CONTENT = `${SHAPE}, content`;
const OVERLAY = [
  columns("n", "overlayId", "state", "fromSeq", "fromStep", "toSeq", "toStep", "fromId", "toId", "tokens"),
  columns("spanTokens", "spanMessages", "spanDigest", "runId", "details", "createdAt", "summary", "topSeq", "changes"),
].join(", ");

const OVERLAY_COLUMNS = OVERLAY.replaceAll(/ AS \w+/g, "");

/** Tables that hold messages or text derived from them. Clearing a session empties all of them. */
const CONTENT_TABLES = [
  "palimpsest_messages",
  "palimpsest_message_parts",
  "palimpsest_fingerprints",
  "palimpsest_overlays",
  "palimpsest_drafts",
] as const;

export class Statements {
  readonly db: Db;

  constructor(db: Db) {
    this.db = db;
  }

  // Sessions

  session(sessionId: string): SessionCounters | undefined {
    const sql = `SELECT next_seq AS nextSeq, ended_at AS endedAt, continued_by AS continuedBy
       FROM palimpsest_sessions WHERE session_id = ?`;
    return this.db.run<SessionCounters>(sql, sessionId)[0];
  }

  parentSession(sessionId: string): string | null {
    const sql = "SELECT parent_session_id AS parent FROM palimpsest_sessions WHERE session_id = ?";
    return this.db.run<{ parent: string | null }>(sql, sessionId)[0]?.parent ?? null;
  }

  insertSession(sessionId: string, createdAt: number): void {
    const row = { sessionId, createdAt, nextSeq: 0 };
    this.db.insert("palimpsest_sessions", row, "ON CONFLICT (session_id) DO NOTHING");
  }

  raiseNextSeq(sessionId: string, nextSeq: number): void {
    const sql = "UPDATE palimpsest_sessions SET next_seq = max(next_seq, ?) WHERE session_id = ?";
    this.db.run(sql, nextSeq, sessionId);
  }

  clearSession(sessionId: string): void {
    for (const table of CONTENT_TABLES) this.db.run(`DELETE FROM ${table} WHERE session_id = ?`, sessionId);
  }

  // Messages

  newestMessage(sessionId: string): { seq: number; id: string } | undefined {
    const sql = "SELECT seq, id FROM palimpsest_messages WHERE session_id = ? ORDER BY seq DESC LIMIT 1";
    return this.db.run<{ seq: number; id: string }>(sql, sessionId)[0];
  }

  messageShape(sessionId: string, seq: number): ShapeRow | undefined {
    const sql = `SELECT ${SHAPE} FROM palimpsest_messages WHERE session_id = ? AND seq = ?`;
    return this.db.run<ShapeRow>(sql, sessionId, seq)[0];
  }

  messageContent(sessionId: string, seq: number): ContentRow | undefined {
    const sql = `SELECT ${CONTENT} FROM palimpsest_messages WHERE session_id = ? AND seq = ?`;
    return this.db.run<ContentRow>(sql, sessionId, seq)[0];
  }

  /** The pieces after the first of a split content, in order. */
  messageParts(sessionId: string, seq: number): { content: string }[] {
    const sql = "SELECT content FROM palimpsest_message_parts WHERE session_id = ? AND seq = ? ORDER BY part";
    return this.db.run(sql, sessionId, seq);
  }

  /** One piece of a split content, counted from 0. The row of the message has the first. */
  messagePart(sessionId: string, seq: number, part: number): { content: string } | undefined {
    const sql = "SELECT content FROM palimpsest_message_parts WHERE session_id = ? AND seq = ? AND part = ?";
    return this.db.run<{ content: string }>(sql, sessionId, seq, part)[0];
  }

  /** Rows at or below `seq`, newest first, read one by one on demand. */
  shapesDown(sessionId: string, seq: number): Generator<ShapeRow> {
    const sql = `SELECT ${SHAPE} FROM palimpsest_messages WHERE session_id = ? AND seq <= ? ORDER BY seq DESC`;
    return this.db.each(sql, sessionId, seq);
  }

  contentsDown(sessionId: string, seq: number): Generator<ContentRow> {
    const sql = `SELECT ${CONTENT} FROM palimpsest_messages WHERE session_id = ? AND seq <= ? ORDER BY seq DESC`;
    return this.db.each(sql, sessionId, seq);
  }

  /** Ids of the rows from `seq` up. */
  idsFrom(sessionId: string, seq: number): { seq: number; id: string }[] {
    const sql = "SELECT seq, id FROM palimpsest_messages WHERE session_id = ? AND seq >= ? ORDER BY seq";
    return this.db.run(sql, sessionId, seq);
  }

  /** Rows above `afterSeq` up to `toSeq` with their parents and without content, oldest first. */
  links(sessionId: string, afterSeq: number, toSeq: number): { seq: number; parentSeq: number | null }[] {
    const sql = `SELECT seq, parent_seq AS parentSeq FROM palimpsest_messages
       WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq`;
    return this.db.run(sql, sessionId, afterSeq, toSeq);
  }

  /** The next row above `seq` that still exists. */
  messageAfter(sessionId: string, seq: number): { seq: number; parentSeq: number | null } | undefined {
    const sql = `SELECT seq, parent_seq AS parentSeq FROM palimpsest_messages
       WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT 1`;
    return this.db.run<{ seq: number; parentSeq: number | null }>(sql, sessionId, seq)[0];
  }

  /** The newest row at `seq` or below it, on any branch. */
  messageBefore(sessionId: string, seq: number): { seq: number } | undefined {
    const sql = "SELECT seq FROM palimpsest_messages WHERE session_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1";
    return this.db.run<{ seq: number }>(sql, sessionId, seq)[0];
  }

  /** Children of a row that are marked as branches. A null `parentSeq` asks for the roots. */
  branchesOf(sessionId: string, parentSeq: number | null): { seq: number }[] {
    const sql = `SELECT seq FROM palimpsest_messages
       WHERE session_id = ? AND parent_seq IS ? AND branch = 1 ORDER BY seq`;
    return this.db.run(sql, sessionId, parentSeq);
  }

  /** All rows of the session that are marked as branches, newest first. */
  branchRows(sessionId: string): { seq: number; parentSeq: number | null }[] {
    const sql = `SELECT seq, parent_seq AS parentSeq FROM palimpsest_messages INDEXED BY palimpsest_branches
       WHERE session_id = ? AND branch = 1 ORDER BY seq DESC`;
    return this.db.run(sql, sessionId);
  }

  insertMessage(sessionId: string, row: NewMessage): void {
    this.db.insert("palimpsest_messages", { sessionId, ...row });
  }

  updateMessage(sessionId: string, row: Omit<ContentRow, "parentSeq" | "id" | "createdAt">): void {
    const sql = `UPDATE palimpsest_messages
       SET role = ?, tokens = ?, bytes = ?, parts = ?, digest = ?, facts = ?, content = ? WHERE session_id = ? AND seq = ?`;
    const shape = [row.role, row.tokens, row.bytes, row.parts, row.digest, row.facts];
    this.db.run(sql, ...shape, row.content, sessionId, row.seq);
  }

  insertMessagePart(sessionId: string, seq: number, piece: { part: number; content: string }): void {
    this.db.insert("palimpsest_message_parts", { sessionId, seq, ...piece });
  }

  deleteMessageParts(sessionId: string, seq: number): void {
    this.db.run("DELETE FROM palimpsest_message_parts WHERE session_id = ? AND seq = ?", sessionId, seq);
  }

  deleteMessage(sessionId: string, seq: number): void {
    this.db.run("DELETE FROM palimpsest_messages WHERE session_id = ? AND seq = ?", sessionId, seq);
  }

  /** Moves a row under another parent, as a branch of it. */
  reparentMessage(sessionId: string, seq: number, parentSeq: number | null): void {
    const sql = "UPDATE palimpsest_messages SET parent_seq = ?, branch = 1 WHERE session_id = ? AND seq = ?";
    this.db.run(sql, parentSeq, sessionId, seq);
  }

  // Fingerprints

  fingerprintPages(sessionId: string): { page: number; hashes: ArrayBuffer }[] {
    const sql = "SELECT page, hashes FROM palimpsest_fingerprints WHERE session_id = ? ORDER BY page";
    return this.db.run(sql, sessionId);
  }

  putFingerprintPage(sessionId: string, page: number, hashes: Uint8Array): void {
    this.db.replace("palimpsest_fingerprints", { sessionId, page, hashes });
  }

  // Overlays

  /**
   * Of the active overlays that end at `at` or before, returns the one that ends last, then the widest, then the
   * newest. Overlays that begin before `floor` are left out.
   */
  overlayAtOrBelow(sessionId: string, at: Place, floor: Place): OverlayRow | undefined {
    const sql = `SELECT ${OVERLAY} FROM palimpsest_overlays INDEXED BY palimpsest_active_overlays
       WHERE session_id = ? AND state = 'active' AND (to_seq, to_step) <= (?, ?) AND (from_seq, from_step) >= (?, ?)
       ORDER BY to_seq DESC, to_step DESC, from_seq ASC, from_step ASC, n DESC LIMIT 1`;
    return this.db.run<OverlayRow>(sql, sessionId, at.seq, at.step, floor.seq, floor.step)[0];
  }

  /** Active overlays that end in the message at `seq` or in a later one, last end first. */
  activeOverlaysEndingFrom(sessionId: string, seq: number): OverlayRow[] {
    const sql = `SELECT ${OVERLAY} FROM palimpsest_overlays INDEXED BY palimpsest_active_overlays
       WHERE session_id = ? AND state = 'active' AND to_seq >= ? ORDER BY to_seq DESC, to_step DESC`;
    return this.db.run(sql, sessionId, seq);
  }

  overlayById(sessionId: string, overlayId: string): OverlayRow | undefined {
    const sql = `SELECT ${OVERLAY} FROM palimpsest_overlays WHERE session_id = ? AND overlay_id = ? AND n > 0`;
    return this.db.run<OverlayRow>(sql, sessionId, overlayId)[0];
  }

  /** All overlays of the session that are or were in force, oldest first. */
  overlays(sessionId: string): OverlayRow[] {
    const sql = `SELECT ${OVERLAY} FROM palimpsest_overlays WHERE session_id = ? AND n > 0 AND state <> 'proposed' ORDER BY n`;
    return this.db.run(sql, sessionId);
  }

  /** Proposals, and versions of the notes that hold, which end in the message at `seq` or in a later one. */
  unshownEndingFrom(sessionId: string, seq: number): OverlayRow[] {
    const sql = `SELECT ${OVERLAY} FROM palimpsest_overlays
       WHERE session_id = ? AND state IN ('proposed', 'notes') AND to_seq >= ?`;
    return this.db.run(sql, sessionId, seq);
  }

  /** Versions of the notes, newest first. They are numbered downwards from -1, so that overlays and notes count by themselves. */
  notes(sessionId: string, limit: number): OverlayRow[] {
    const sql = `SELECT ${OVERLAY} FROM palimpsest_overlays WHERE session_id = ? AND n < 0 ORDER BY n LIMIT ?`;
    return this.db.run(sql, sessionId, limit);
  }

  /** Summaries in force that contain this text. */
  summariesWith(sessionId: string, text: string): string[] {
    const sql = `SELECT summary FROM palimpsest_overlays WHERE session_id = ? AND state = 'active' AND instr(summary, ?) > 0`;
    return this.db.run<{ summary: string }>(sql, sessionId, text).map(({ summary }) => summary);
  }

  /** Copies the versions of the notes that hold to a session that has the same messages under the same numbers, as far as it has them. */
  copyNotes(from: string, to: string): void {
    const sql = `INSERT INTO palimpsest_overlays (session_id, ${OVERLAY_COLUMNS})
       SELECT ?, ${OVERLAY_COLUMNS} FROM palimpsest_overlays AS notes
       WHERE session_id = ? AND state = 'notes' AND (to_seq < 0 OR EXISTS (
         SELECT 1 FROM palimpsest_messages AS copied WHERE copied.session_id = ? AND copied.seq = notes.to_seq))`;
    this.db.run(sql, to, from, to);
  }

  deleteOverlay(sessionId: string, n: number): void {
    this.db.run("DELETE FROM palimpsest_overlays WHERE session_id = ? AND n = ?", sessionId, n);
  }

  lastOverlayNumber(sessionId: string): number {
    const sql = "SELECT n FROM palimpsest_overlays WHERE session_id = ? AND n > 0 ORDER BY n DESC LIMIT 1";
    return this.db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  insertOverlay(sessionId: string, row: OverlayRow): void {
    this.db.insert("palimpsest_overlays", { sessionId, ...row });
  }

  /** Updates the columns of an overlay that may change: state, changes, details and tokens. */
  changeOverlay(sessionId: string, row: OverlayRow): void {
    const sql = `UPDATE palimpsest_overlays SET state = ?, changes = ?, details = ?, tokens = ?
       WHERE session_id = ? AND n = ?`;
    this.db.run(sql, row.state, row.changes, row.details, row.tokens, sessionId, row.n);
  }
}

/** A message and a step in it. Places on one path are ordered by `seq`, then by `step`. */
export interface Place {
  readonly seq: number;
  readonly step: number;
}

/** The ends of a closed range of one path. */
export interface Range {
  readonly from: Place;
  readonly to: Place;
}

/** Negative when `a` comes before `b` on their path. */
export function comparePlaces(a: Place, b: Place): number {
  return a.seq - b.seq || a.step - b.step;
}
