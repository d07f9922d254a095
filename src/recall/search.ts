/**
 * Full-text search over messages, including hidden ones and those on other branches.
 *
 * The index is derived from the message rows and has no influence on what a model sees. A search first indexes the messages stored since
 * the last one, so results are exact and an append writes nothing here. A change to an indexed message takes it out of the index in the
 * same transaction.
 *
 * Words match without regard to case and accents, and in any form that their language's rules know. In scripts without spaces between
 * words, any part of a text matches.
 *
 * The index is one FTS5 table over all sessions. A message's row number in it is `session * 2^31 + seq`. So a row is found, replaced and
 * deleted by its key, and a session's messages are one range of numbers.
 *
 * Its triggers take out what is forgotten, so words leave the index also where the room is gone. `secure-delete` removes the words of a
 * deleted row at once instead of at a later merge (S2). It rewrites a page for each word, so many bytes are removed without it, and the index
 * is merged after them in the same transaction, which leaves none of their words either.
 *
 * Both take seconds for a large session, and nobody else is answered meanwhile. So where this code is loaded, the whole index is dropped
 * with a large session. That is one transaction, of some 200 ms for 46 MB, and the next search of another session indexes it again in pieces.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkWhole } from "../known-fields.ts";
import { DEFAULT_SEARCH_HITS, ENCODED_SEARCH_CHARS, MAX_SEARCH_HITS } from "../limits.ts";
import type { Db, Forgotten } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";
import { isPruned, NotAtHand, type ReadableRow } from "../memory/messages/content.ts";
import { fieldText, hasResult, innerParts, toolName, toolPart, type Part } from "../steps/message/message.ts";
import { isEncoded, atOnce, type Slices } from "../steps/text/text.ts";
import { askExpression, fitWords, snippetsFor } from "./index-text.ts";
import { readQuestion, weightOf, type Ask } from "./question.ts";

type SourceRow = { seq: number; id: string; role: string; parts: number; digest: string; content: string };
type FoundRow = { id: string; role: string; createdAt: number };

/** A range of the session's messages, both ends included. */
export interface SeqRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

export function isIn(ranges: readonly SeqRange[], seq: number): boolean {
  return ranges.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
}

/** A range of row numbers in the index, both ends included. */
interface Stretch {
  readonly first: number;
  readonly last: number;
}

/** How far a session is indexed. `n` is its number in the index. `noted` is null while a search is still indexing it. */
type IndexedRow = { n: number; noted: number | null; indexedTo: number };

/** Row numbers per session. No session holds more messages, and the numbers of 4 million sessions stay exact. */
const SESSION_SIZE = 2 ** 31;

/** Numbers are bound as floating point, and FTS5 ignores a row number of that type. */
const ROWID = "CAST(? AS INTEGER)";

function rowidOf(n: number, seq: number): number {
  return n * SESSION_SIZE + seq;
}

/** The last row number of a session. */
function lastOf(n: number): number {
  return rowidOf(n + 1, 0) - 1;
}

function readRowid(rowid: number): { n: number; seq: number } {
  return { n: Math.floor(rowid / SESSION_SIZE), seq: rowid % SESSION_SIZE };
}

/** From so many bytes on, removing them row by row would keep an object for more than a tenth of a second. */
const LEAST_AT_ONCE = 200_000;
/** Merging this many times the bytes takes as long as removing them row by row. */
const MERGED_FOR_ONE = 64;
/** Most bytes of a block of the index. */
const BLOCK_BYTES = 4_096;

/** From so many bytes on, removing them in the triggers would take seconds, and the platform would stop the object at some ten times as many. */
const MOST_IN_TRIGGERS = 2_000_000;
/** Fewer bytes drop the index where it has at most this many times as many, because then it is soon made again. */
const DROPPED_FOR_ONE = 8;

/** The bytes of the rows that this condition on their number finds. Reads the sizes of texts, not the texts. */
function bytesOf(which: string): string {
  return `(SELECT coalesce(sum(octet_length(c0) + octet_length(c1)), 0) FROM palimpsest_search_content WHERE id ${which})`;
}

/** The number of the index's blocks, counted up to this many and one more. */
function blocksUpTo(most: string): string {
  return `(SELECT count(*) FROM (SELECT 1 FROM palimpsest_search_data LIMIT ${most} + 1))`;
}

/** The body of a trigger that removes the rows which this condition on their number finds, in the way that takes less time. */
function removing(which: string): string {
  const bytes = bytesOf(which);
  const blocks = `${bytes} / ${BLOCK_BYTES / MERGED_FOR_ONE}`;
  const atOnce = `${bytes} >= ${LEAST_AT_ONCE} AND ${blocksUpTo(blocks)} <= ${blocks}`;
  const isAtOnce = "(SELECT v FROM palimpsest_search_config WHERE k = 'secure-delete') = 0";
  return `
    INSERT INTO palimpsest_search (palimpsest_search, rank) SELECT 'secure-delete', 0 WHERE ${atOnce};
    DELETE FROM palimpsest_search WHERE rowid ${which};
    INSERT INTO palimpsest_search (palimpsest_search) SELECT 'optimize' WHERE ${isAtOnce};
    INSERT INTO palimpsest_search (palimpsest_search, rank) SELECT 'secure-delete', 1 WHERE ${isAtOnce};`;
}

/** The session's number, and the row numbers of the messages that are forgotten. */
const N = "(SELECT n FROM palimpsest_searched_sessions WHERE session_id = NEW.session_id)";
const NUMBERS = `SELECT (${N} << 31) + value FROM json_each(NEW.seqs)`;
const IN_SESSION = `BETWEEN ${N} << 31 AND (${N} + 1 << 31) - 1`;
const IS_SEARCHED = "EXISTS (SELECT 1 FROM palimpsest_searched_sessions WHERE session_id = NEW.session_id)";

const INDEX = [
  `CREATE VIRTUAL TABLE palimpsest_search USING fts5 (words, forms, tokenize = 'unicode61 remove_diacritics 2')`,
  "INSERT INTO palimpsest_search (palimpsest_search, rank) VALUES ('secure-delete', 1)",
];

defineTables("wordIndex", [
  // How far each session is indexed. A session has no row until it is first searched. NULL while a search lets other work in between.
  `CREATE TABLE palimpsest_searched_sessions (
     n          INTEGER PRIMARY KEY,
     session_id TEXT NOT NULL UNIQUE,
     indexed_to INTEGER
   )`,
  ...INDEX,
  // Messages that are too long to be indexed whole.
  "CREATE TABLE palimpsest_search_partial (number INTEGER PRIMARY KEY)",
  // Messages that were indexed and edited since.
  "CREATE TABLE palimpsest_search_edited (number INTEGER PRIMARY KEY)",
  `CREATE TRIGGER palimpsest_search_is_edited INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'edited' AND ${IS_SEARCHED} BEGIN
       INSERT OR IGNORE INTO palimpsest_search_edited SELECT (n << 31) + value
         FROM palimpsest_searched_sessions, json_each(NEW.seqs) WHERE session_id = NEW.session_id AND
           (value <= indexed_to OR EXISTS (SELECT 1 FROM palimpsest_search WHERE rowid = (n << 31) + value));
       ${removing(`IN (${NUMBERS})`)}
       DELETE FROM palimpsest_search_partial WHERE number IN (${NUMBERS});
     END`,
  `CREATE TRIGGER palimpsest_search_deleted INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'deleted' AND ${IS_SEARCHED} BEGIN
       ${removing(`IN (${NUMBERS})`)}
       DELETE FROM palimpsest_search_partial WHERE number IN (${NUMBERS});
       DELETE FROM palimpsest_search_edited WHERE number IN (${NUMBERS});
     END`,
  `CREATE TRIGGER palimpsest_search_cleared INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'cleared' AND ${IS_SEARCHED} BEGIN
       ${removing(IN_SESSION)}
       DELETE FROM palimpsest_search_partial WHERE number ${IN_SESSION};
       DELETE FROM palimpsest_search_edited WHERE number ${IN_SESSION};
       DELETE FROM palimpsest_searched_sessions WHERE session_id = NEW.session_id;
     END`,
]);

const SOURCE = "SELECT seq, id, role, parts, digest, content FROM palimpsest_messages WHERE session_id = ?";

class SearchStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Where nothing is noted, the session's newest row in the index tells how far it is indexed. */
  indexed(sessionId: string): IndexedRow | undefined {
    const newest =
      "SELECT max(rowid) - (n << 31) FROM palimpsest_search WHERE rowid >= n << 31 AND rowid < n + 1 << 31";
    const sql = `SELECT n, indexed_to AS noted, coalesce(indexed_to, (${newest}), -1) AS indexedTo FROM palimpsest_searched_sessions WHERE session_id = ?`;
    return this.#db.run<IndexedRow>(sql, sessionId)[0];
  }

  /** Bytes of the index that are forgotten. */
  forgottenBytes({ sessionId, what, seqs }: Forgotten): number {
    const which = (what === "cleared" ? IN_SESSION : `IN (${NUMBERS})`).replaceAll("NEW.session_id", "?1");
    const sql = `SELECT ${bytesOf(which.replace("NEW.seqs", "?2"))} AS bytes FROM palimpsest_searched_sessions WHERE session_id = ?1 AND ?2 > ''`;
    return this.#db.run<{ bytes: number }>(sql, sessionId, JSON.stringify(seqs))[0]?.bytes ?? 0;
  }

  hasMoreBlocks(most: number): boolean {
    const sql = `SELECT ${blocksUpTo("?1")} AS n FROM palimpsest_searched_sessions LIMIT 1`;
    return (this.#db.run<{ n: number }>(sql, most)[0]?.n ?? 0) > most;
  }

  /** Makes the index anew without a row. Throws where somebody has not read a cursor of this database to its end, and changes nothing then. */
  dropIndex(): void {
    this.#db.run("DROP TABLE palimpsest_search");
    for (const sql of INDEX) this.#db.run(sql);
    // Sessions keep their numbers, and all of their messages are indexed again.
    this.#db.run("UPDATE palimpsest_searched_sessions SET indexed_to = -1");
    this.#db.run("DELETE FROM palimpsest_search_edited");
  }

  partialBetween({ first, last }: Stretch): number[] {
    const sql = "SELECT number FROM palimpsest_search_partial WHERE number BETWEEN ? AND ?";
    return this.#db.run<{ number: number }>(sql, first, last).map(({ number }) => number);
  }

  /** A message of the session that was edited since it was indexed. */
  edited(n: number): number | null {
    const sql = "SELECT number FROM palimpsest_search_edited WHERE number BETWEEN ? AND ? LIMIT 1";
    return this.#db.run<{ number: number }>(sql, rowidOf(n, 0), lastOf(n))[0]?.number ?? null;
  }

  deleteEdited(number: number): void {
    this.#db.run("DELETE FROM palimpsest_search_edited WHERE number = ?", number);
  }

  /** A message by its number. */
  source(sessionId: string, seq: number): SourceRow | undefined {
    return this.#db.run<SourceRow>(`${SOURCE} AND seq = ?`, sessionId, seq)[0];
  }

  sessionIds(): { sessionId: string }[] {
    return this.#db.run("SELECT session_id AS sessionId FROM palimpsest_sessions");
  }

  /** Gives the session a number in the index. */
  insertIndexed(sessionId: string): number {
    const sql = "INSERT INTO palimpsest_searched_sessions (session_id) VALUES (?) RETURNING n";
    return this.#db.run<{ n: number }>(sql, sessionId)[0]?.n ?? 0;
  }

  setIndexedTo(n: number, seq: number | null): void {
    this.#db.run("UPDATE palimpsest_searched_sessions SET indexed_to = ? WHERE n = ?", seq, n);
  }

  /** The first message after `seq`. Reads one at a time, because a message may take megabytes. */
  messageAfter(sessionId: string, seq: number): SourceRow | undefined {
    return this.#db.run<SourceRow>(`${SOURCE} AND seq > ? ORDER BY seq LIMIT 1`, sessionId, seq)[0];
  }

  message(sessionId: string, seq: number): FoundRow | undefined {
    const sql = "SELECT id, role, created_at AS createdAt FROM palimpsest_messages WHERE session_id = ? AND seq = ?";
    return this.#db.run<FoundRow>(sql, sessionId, seq)[0];
  }

  insertWords(rowid: number, { words, forms }: { readonly words: string; readonly forms: string }): void {
    this.#db.run(`REPLACE INTO palimpsest_search (rowid, words, forms) VALUES (${ROWID}, ?, ?)`, rowid, words, forms);
  }

  /** Records that only a part of a message is indexed. */
  insertPartial(rowid: number): void {
    this.#db.replace("palimpsest_search_partial", { number: rowid });
  }

  /** The best matches with numbers in this range, best first and newer ones first among equals. */
  matches(match: string, { first, last }: Stretch, limit: number): { rowid: number; rank: number }[] {
    const sql = `SELECT rowid, rank FROM palimpsest_search
       WHERE palimpsest_search MATCH ? AND rowid BETWEEN ${ROWID} AND ${ROWID} ORDER BY rank, rowid DESC LIMIT ?`;
    return this.#db.run(sql, match, first, last, limit);
  }

  /** Matching messages with these numbers, newest first. Reads as many rows as it finds. */
  newestMatches(match: string, { first, last }: Stretch, limit: number): number[] {
    const sql = `SELECT rowid FROM palimpsest_search
       WHERE palimpsest_search MATCH ? AND rowid BETWEEN ${ROWID} AND ${ROWID} ORDER BY rowid DESC LIMIT ?`;
    return this.#db.run<{ rowid: number }>(sql, match, first, last, limit).map(({ rowid }) => rowid);
  }

  /** The indexed text of a message. */
  words(rowid: number): string {
    const sql = `SELECT words FROM palimpsest_search WHERE rowid = ${ROWID}`;
    return this.#db.run<{ words: string }>(sql, rowid)[0]?.words ?? "";
  }
}

/** Used when no message has all of the words. A message is a hit when its weight is at least this share of the best one's. */
const MOST_SHARE = 0.5;

/** Most index rows read when no message has all words of a search, and most rows read for one ask. */
const MOST_ROWS = 2_400;
const MOST_OF_ONE = 400;

/** What of the messages is searched. */
export interface SearchOptions {
  /** Defaults to all sessions. */
  readonly sessionId?: string;
  /** Most hits. Default 20, at most 100. */
  readonly limit?: number;
}

/** A message that was found. */
export interface SearchHit {
  /** The session that holds it. */
  readonly sessionId: string;
  /** The message's id. */
  readonly id: string;
  /** The message's role. */
  readonly role: string;
  /** The part of its text that contains the words, about 240 characters, with cuts marked by "…". */
  readonly snippet: string;
  /** Words of the query that the message lacks. Always empty when any message has them all. */
  readonly missing: readonly string[];
  /**
   * True when the message is too long to be indexed whole. Then only the beginning and end of its longest texts are
   * searched.
   */
  readonly partial: boolean;
  /** Higher is better. Scores are comparable within one answer only. */
  readonly score: number;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** A message of the index that was found. */
interface Found {
  readonly rowid: number;
  readonly score: number;
  readonly missing: readonly string[];
}

/** A session of the index, with how far it is indexed. */
type IndexedSession = IndexedRow & { readonly sessionId: string };

/** What was indexed to its end, and the rows that the object had written by then. */
interface CaughtUp {
  readonly indexed: readonly IndexedSession[];
  readonly written: number;
}

interface MatchQuery {
  readonly sessionId: string;
  readonly ranges: readonly SeqRange[];
  /** Index rows for all asks. */
  readonly rows: number;
}

/** An ask, and the messages that have it, newest first. */
interface AskMatches {
  readonly ask: Ask;
  readonly seqs: readonly number[];
  readonly isAll: boolean;
}

/** Reads the content of a message's row. */
type ReadContent = (sessionId: string, row: ReadableRow) => UIMessage;

/**
 * Characters indexed in one piece before other work may run, about ten milliseconds' worth. Each message counts
 * {@link LEAST_INDEXED_CHARS} more than its own.
 */
export const INDEX_PIECE_CHARS = 100_000;
const LEAST_INDEXED_CHARS = 500;

/** Messages that a search fetches from a host together. Enough for few round trips, and few enough for memory. */
const FETCHED_AT_ONCE = 50;

export class MessageSearch {
  readonly #read: ReadContent;
  readonly #sql: SearchStatements;
  /** Times that the index was dropped. */
  #drops = 0;
  readonly #db: Db;
  /** By session, and under undefined for all of them. It holds until a row is written, so a search looks for new messages once. */
  readonly #caughtUp: Map<string | undefined, CaughtUp>;
  /** By session, until a row is written. Null for a session that is not indexed. */
  readonly #known: Map<string, { readonly indexed: IndexedRow | null; readonly written: number }>;

  constructor(db: Db, read: ReadContent) {
    this.#db = db;
    this.#caughtUp = db.cached(new Map());
    this.#known = db.cached(new Map());
    this.#read = read;
    this.#sql = new SearchStatements(db);
    db.beforeForgetting((forgotten) => this.#dropFor(forgotten));
  }

  /** Drops the index where removing what is forgotten would keep the object too long. What is left to the triggers is bounded by bytes. */
  #dropFor(forgotten: Forgotten): void {
    if (forgotten.what !== "cleared" && forgotten.what !== "deleted") return;
    const bytes = this.#sql.forgottenBytes(forgotten);
    if (bytes < LEAST_AT_ONCE) return;
    if (bytes < MOST_IN_TRIGGERS && this.#sql.hasMoreBlocks(Math.floor((bytes * DROPPED_FOR_ONE) / BLOCK_BYTES)))
      return;
    try {
      this.#sql.dropIndex();
      this.#drops++;
    } catch {
      // The triggers remove the words, only slower.
    }
  }

  /**
   * Finds the messages that have every word of the query in some form. It may have `word`, `begin*` and `"some phrase"`, and its
   * first 32 different terms count. If no message has all, finds those with most of them, each with its
   * missing words. Any other character is searched as text, so no query is malformed. A query without a letter or digit
   * finds nothing. Best match first. Throws `invalid_options`.
   */
  find(query: string, options: SearchOptions = {}): SearchHit[] {
    const { sessionId, limit = DEFAULT_SEARCH_HITS } = options;
    checkWhole("limit", limit, 1, MAX_SEARCH_HITS);
    if (typeof query !== "string") throw new PalimpsestError("invalid_options", "A query is a text.");
    const { asks } = readQuestion(query);
    const every = asks.map(askExpression);
    const indexed = every.length === 0 ? [] : this.#indexed(sessionId);
    if (indexed.length === 0) return [];
    const stretches = indexed.toSorted((a, b) => b.n - a.n).map(({ n }) => ({ first: rowidOf(n, 0), last: lastOf(n) }));
    const all = this.#sql.matches(every.map((each) => `(${each})`).join(" AND "), span(stretches), limit);
    const found: Found[] =
      all.length > 0
        ? all.map(({ rowid, rank }) => ({ rowid, score: -rank, missing: [] }))
        : this.#findMost(asks, { indexed, stretches, limit });
    const snippetOf = snippetsFor(asks);
    const partial = this.#partialAmong(found.map(({ rowid }) => rowid));
    const sessions = new Map(indexed.map((each) => [each.n, each.sessionId]));
    return found.flatMap(({ rowid, score, missing }) => {
      const { n, seq } = readRowid(rowid);
      const session = sessions.get(n);
      const message = session === undefined ? undefined : this.#sql.message(session, seq);
      if (session === undefined || message === undefined) return [];
      const snippet = snippetOf(this.#sql.words(rowid));
      return [{ sessionId: session, ...message, snippet, missing, partial: partial.has(rowid), score }];
    });
  }

  /** The messages that have most of the asks, each ask weighted by how rare it is. Newer messages come first among equals. */
  #findMost(
    asks: readonly Ask[],
    { indexed, stretches, limit }: { indexed: readonly IndexedRow[]; stretches: readonly Stretch[]; limit: number },
  ): Found[] {
    const messages = indexed.reduce((sum, { indexedTo }) => sum + indexedTo + 1, 0);
    const found = this.#newestOf(asks, { stretches: [span(stretches)], rows: MOST_ROWS });
    const scores = new Map<number, number>();
    for (const { rowids } of found) {
      const weight = weightOf(rowids, messages);
      for (const rowid of rowids) scores.set(rowid, (scores.get(rowid) ?? 0) + weight);
    }
    const best = Math.max(0, ...scores.values());
    const ranked = [...scores].filter(([, score]) => score >= best * MOST_SHARE);
    return ranked
      .toSorted((a, b) => b[1] - a[1] || b[0] - a[0])
      .slice(0, limit)
      .map(([rowid, score]) => {
        const has = new Set(found.flatMap(({ ask, rowids }) => (rowids.includes(rowid) ? ask : [])));
        return { rowid, score, missing: asks.filter((ask) => !has.has(ask)).map(({ word }) => word) };
      });
  }

  #partialAmong(rowids: readonly number[]): ReadonlySet<number> {
    if (rowids.length === 0) return new Set();
    return new Set(this.#sql.partialBetween({ first: Math.min(...rowids), last: Math.max(...rowids) }));
  }

  /**
   * For each ask, the messages in `ranges` that have it, newest first. All asks share `rows`, because a word in many
   * messages tells little, no matter which of them are known.
   */
  messagesWith(asks: readonly Ask[], { sessionId, ranges, rows }: MatchQuery): AskMatches[] {
    const [indexed] = this.#indexed(sessionId);
    if (indexed === undefined) return asks.map((ask) => ({ ask, seqs: [], isAll: true }));
    const stretches = ranges
      .toSorted((a, b) => b.toSeq - a.toSeq)
      .map(({ fromSeq, toSeq }) => ({ first: rowidOf(indexed.n, fromSeq), last: rowidOf(indexed.n, toSeq) }));
    const found = this.#newestOf(asks, { stretches, rows });
    return found.map(({ ask, rowids, isAll }) => ({ ask, isAll, seqs: rowids.map((rowid) => readRowid(rowid).seq) }));
  }

  /** For each ask, the row numbers of its messages, newest first. `stretches` must have the newest first. */
  #newestOf(asks: readonly Ask[], { stretches, rows }: { stretches: readonly Stretch[]; rows: number }) {
    const most = Math.min(MOST_OF_ONE, Math.ceil(rows / Math.max(1, asks.length)));
    return asks.map((ask) => {
      const rowids: number[] = [];
      for (const numbers of stretches) {
        rowids.push(...this.#sql.newestMatches(askExpression(ask), numbers, most - rowids.length + 1));
        if (rowids.length > most) return { ask, rowids: rowids.slice(0, most), isAll: false };
      }
      return { ask, rowids, isAll: true };
    });
  }

  /** Counts the indexed messages, in a session or in ranges of it, of which a search sees only a part. */
  countPartial(sessionId: string, ranges: readonly SeqRange[] | null = null): number {
    const indexed = this.#load(sessionId);
    if (indexed === null) return 0;
    const { n } = indexed;
    const stretches = ranges?.map(({ fromSeq, toSeq }) => ({ first: rowidOf(n, fromSeq), last: rowidOf(n, toSeq) }));
    return (stretches ?? [{ first: rowidOf(n, 0), last: lastOf(n) }]).flatMap((each) => this.#sql.partialBetween(each))
      .length;
  }

  /** How far a session is indexed. Null when it is not. */
  #load(sessionId: string): IndexedRow | null {
    const written = this.#db.meter.rowsWritten;
    const known = this.#known.get(sessionId);
    if (known?.written === written) return known.indexed;
    const indexed = this.#sql.indexed(sessionId) ?? null;
    this.#known.set(sessionId, { indexed, written });
    return indexed;
  }

  /**
   * Indexes the messages stored since the last time, of one session or of all, in pieces of {@link INDEX_PIECE_CHARS}
   * or one message. Finished pieces stay indexed if the caller stops, and the next search indexes the rest.
   */
  *catchUp(sessionId?: string): Slices<void> {
    // Where the index was dropped between two pieces, it begins again.
    for (let drops = -1; drops !== this.#drops;) {
      drops = this.#drops;
      yield* this.#indexAll(sessionId, INDEX_PIECE_CHARS);
    }
  }

  /** Indexes everything that is left. Sessions that never had a message to index are missing. */
  #indexed(sessionId?: string): readonly IndexedSession[] {
    return atOnce(this.#indexAll(sessionId, Infinity));
  }

  *#indexAll(sessionId: string | undefined, chars: number): Slices<readonly IndexedSession[]> {
    const known = this.#caughtUp.get(sessionId);
    if (known?.written === this.#db.meter.rowsWritten) return known.indexed;
    const indexed: IndexedSession[] = [];
    let isPaused = false;
    for (const each of sessionId === undefined ? this.#sql.sessionIds() : [{ sessionId }]) {
      let reached = this.#index(each.sessionId, chars);
      for (; !reached.isAll; reached = this.#index(each.sessionId, chars)) {
        yield;
        isPaused = true;
      }
      if (reached.indexed !== null) indexed.push({ ...reached.indexed, ...each });
    }
    // In a pause a session that was done may have got new messages.
    if (!isPaused) this.#caughtUp.set(sessionId, { indexed, written: this.#db.meter.rowsWritten });
    return indexed;
  }

  /** Indexes until that many characters were read. */
  #index(sessionId: string, chars: number): { indexed: IndexedRow | null; isAll: boolean } {
    const indexed = this.#load(sessionId);
    if (indexed !== null && this.#indexEdited(sessionId, indexed.n, chars)) return { indexed, isAll: false };
    const first = this.#sql.messageAfter(sessionId, indexed?.indexedTo ?? -1);
    if (first === undefined) return { indexed, isAll: true };
    let waiting: NotAtHand | null = null;
    const reached = this.#db.transaction(() => {
      const n = indexed?.n ?? this.#sql.insertIndexed(sessionId);
      let indexedTo = indexed?.indexedTo ?? -1;
      let left = chars;
      let row: SourceRow | undefined = first;
      while (row !== undefined && left > 0) {
        const message = this.#readOrWait(sessionId, row);
        if (message instanceof NotAtHand) {
          // Keeps the messages indexed so far. The next try continues here.
          waiting = message;
          break;
        }
        if (message !== null) left -= this.#insert(n, row.seq, message);
        indexedTo = row.seq;
        // What follows a full piece is read with the next one.
        if (left > 0) row = this.#sql.messageAfter(sessionId, row.seq);
      }
      // Slices in between note nothing, so a long index costs no row for each of them.
      const noted = row === undefined ? indexedTo : null;
      if (noted !== (indexed?.noted ?? null)) this.#sql.setIndexedTo(n, noted);
      const caughtUp = { n, noted, indexedTo };
      this.#known.set(sessionId, { indexed: caughtUp, written: this.#db.meter.rowsWritten });
      return { indexed: caughtUp, isAll: row === undefined };
    });
    if (waiting !== null) throw waiting;
    return reached;
  }

  /** Indexes messages that were edited since they were indexed, until that many characters were read. False where there are none. */
  #indexEdited(sessionId: string, n: number, chars: number): boolean {
    let left = chars;
    for (let number = this.#sql.edited(n); number !== null && left > 0; number = this.#sql.edited(n)) {
      const edited = number;
      const row = this.#sql.source(sessionId, readRowid(edited).seq);
      const message = row === undefined ? null : this.#readOrWait(sessionId, row);
      if (message instanceof NotAtHand) throw message;
      left -= this.#db.transaction(() => {
        this.#sql.deleteEdited(edited);
        return message === null ? 0 : this.#insert(n, readRowid(edited).seq, message);
      });
    }
    return left < chars;
  }

  /**
   * Reads a message. Null for one that its host pruned. Where content must be fetched, returns the ids of several
   * messages to fetch together.
   */
  #readOrWait(sessionId: string, row: SourceRow): UIMessage | NotAtHand | null {
    if (isPruned(row)) return null;
    try {
      return this.#read(sessionId, row);
    } catch (error) {
      if (!(error instanceof NotAtHand)) throw error;
      const ids: string[] = [];
      for (
        let next: SourceRow | undefined = row;
        next !== undefined && ids.length < FETCHED_AT_ONCE;
        next = this.#sql.messageAfter(sessionId, next.seq)
      ) {
        if (!isPruned(next)) ids.push(next.id);
      }
      return new NotAtHand(ids);
    }
  }

  /** Inserts a message and returns its cost in characters. */
  #insert(n: number, seq: number, message: UIMessage): number {
    const { words, forms, partial } = fitWords(textsOf(message));
    const rowid = rowidOf(n, seq);
    this.#sql.insertWords(rowid, { words, forms });
    if (partial) this.#sql.insertPartial(rowid);
    return words.length + LEAST_INDEXED_CHARS;
  }
}

function span(stretches: readonly Stretch[]): Stretch {
  return {
    first: Math.min(...stretches.map(({ first }) => first)),
    last: Math.max(...stretches.map(({ last }) => last)),
  };
}

/** All texts of a message, with the inputs and outputs of its tools. */
function textsOf(message: UIMessage): string[] {
  const words: string[] = [];
  for (const part of message.parts) addPart(part, words);
  return words;
}

function addPart(part: Part, words: string[]): void {
  const tool = toolPart(part);
  if (tool !== null) {
    words.push(toolName(tool));
    addValue(tool.input, words);
    if (hasResult(tool)) addValue(tool.state === "output-available" ? tool.output : tool.errorText, words);
  } else if (part.type === "text" || part.type === "reasoning") {
    words.push(fieldText(part.text));
  } else if (part.type === "file" || part.type === "source-document") {
    addValue(part.filename, words);
    if (part.type === "source-document") words.push(fieldText(part.title));
  } else if (part.type === "source-url") {
    addValue([part.title, part.url], words);
  } else if (part.type === "steering-message") {
    for (const each of innerParts(part)) addPart(each, words);
  }
}

/** The strings and numbers in a value, and the names of its fields. */
function addValue(value: unknown, words: string[]): void {
  if (typeof value === "string") {
    // Skips encoded bytes such as images, archives and keys, which nobody searches for and which would fill the index.
    if (!isEncoded(value, ENCODED_SEARCH_CHARS)) words.push(value);
  } else if (typeof value === "number") {
    words.push(String(value));
  } else if (Array.isArray(value)) {
    for (const each of value) addValue(each, words);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      words.push(key);
      addValue(each, words);
    }
  }
}
