/**
 * Full-text search over messages, hidden ones and other branches included.
 *
 * Job: keep an index, answer queries. Boundary: the index is made of the message rows and can be made again from them;
 * it decides nothing about what a model sees.
 *
 * Why it is exact and costs nothing until it is used: a search first indexes what was stored since the last one, so an
 * append writes nothing here, before the first search or after. Only a change to a message that is indexed already
 * (update, delete, clear) changes the index, in the same transaction.
 *
 * Words are found without regard to case and accents; any part of a text where a script puts no spaces between words.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { DEFAULT_SEARCH_HITS, ENCODED_SEARCH_CHARS, MAX_SEARCH_HITS } from "../../limits.ts";
import { isEncoded } from "../../steps/text/encoded.ts";
import { fieldText, hasResult, innerParts, toolName, toolPart, type Part } from "../../steps/message/tool-parts.ts";
import { isPruned, NotAtHand, type ReadableRow } from "../messages/contents.ts";
import type { Db } from "../db.ts";
import { fitWords, matchExpression, queryTerms } from "./words.ts";
import { lastOf, placeOf, rowidOf, SearchStatements, type IndexedRow, type SourceRow } from "./statements.ts";
import { snippetsFor } from "./snippet.ts";

export interface SearchOptions {
  /** Default: all sessions. */
  readonly sessionId?: string;
  /** Most hits. Default 20, at most 100. */
  readonly limit?: number;
}

export interface SearchHit {
  readonly sessionId: string;
  /** Of the message. */
  readonly id: string;
  readonly role: string;
  /** The part of its text in which the words stand, about 240 characters, cuts marked by "…". */
  readonly snippet: string;
  /** True when the message is too long to be searched whole: of its longest texts only beginning and end are. */
  readonly partial: boolean;
  /** Higher is better; comparable within one answer only. */
  readonly score: number;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** A stretch of the session's messages, both ends included. */
export interface SeqRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** The content of a message's row. */
type ReadContent = (sessionId: string, row: ReadableRow) => UIMessage;

/** Messages that a search asks a host for together: enough to need few turns, few enough to hold in memory. */
const FETCHED_AT_ONCE = 50;

export class MessageSearch {
  readonly #read: ReadContent;
  readonly #sql: SearchStatements;
  readonly #db: Db;
  /** By session; null for one that is not indexed. What is not in here was not asked for yet. */
  readonly #indexed: Map<string, IndexedRow | null>;

  constructor(db: Db, read: ReadContent) {
    this.#db = db;
    this.#read = read;
    this.#sql = new SearchStatements(db);
    this.#indexed = db.cached(new Map());
  }

  /**
   * The messages that hold every word of the query: `word`, `begin*`, `"some phrase"`, the first 32 different ones.
   * Anything else in a query is looked for as text, so no query is malformed; one without any letter or digit finds
   * nothing. Best match first. Throws `invalid_options`.
   */
  find(query: string, options: SearchOptions = {}): SearchHit[] {
    const { sessionId, limit = DEFAULT_SEARCH_HITS } = options;
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_SEARCH_HITS) {
      throw new PalimpsestError(
        "invalid_options",
        `limit is ${limit}: give a whole number from 1 to ${MAX_SEARCH_HITS}.`,
      );
    }
    if (typeof query !== "string") throw new PalimpsestError("invalid_options", "A query is a text.");
    const match = matchExpression(query);
    if (match === "") return [];
    const sessionIds = sessionId === undefined ? this.#sql.sessionIds().map((row) => row.sessionId) : [sessionId];
    const sessions = new Map<number, string>();
    for (const each of sessionIds) {
      const indexed = this.#catchUp(each);
      if (indexed !== null) sessions.set(indexed.n, each);
    }
    if (sessions.size === 0) return [];
    const only = sessionId === undefined ? null : ([...sessions.keys()][0] ?? null);
    const snippetOf = snippetsFor(queryTerms(query));
    const matches = this.#sql.matches(match, only, limit);
    const partial = this.#partialAmong(matches.map(({ rowid }) => rowid));
    return matches.flatMap(({ rowid, rank }) => {
      const { n, seq } = placeOf(rowid);
      const found = sessions.get(n);
      const message = found === undefined ? undefined : this.#sql.message(found, seq);
      if (found === undefined || message === undefined) return [];
      const snippet = snippetOf(this.#sql.words(rowid));
      return [{ sessionId: found, ...message, snippet, partial: partial.has(rowid), score: -rank }];
    });
  }

  #partialAmong(rowids: readonly number[]): ReadonlySet<number> {
    if (rowids.length === 0) return new Set();
    return new Set(this.#sql.partialBetween({ first: Math.min(...rowids), last: Math.max(...rowids) }));
  }

  /**
   * HiddenMessages in one session of the messages that hold every word of the query, or, when none does, any of them: best
   * match first, only those inside `ranges`.
   */
  findPlaces(query: string, where: { sessionId: string; ranges: readonly SeqRange[]; limit: number }): number[] {
    const indexed = this.#catchUp(where.sessionId);
    if (indexed === null) return [];
    for (const any of [false, true]) {
      const match = matchExpression(query, any);
      const found = where.ranges.flatMap(({ fromSeq, toSeq }) => {
        const numbers = { first: rowidOf(indexed.n, fromSeq), last: rowidOf(indexed.n, toSeq) };
        return match === "" ? [] : this.#sql.matchesBetween(match, numbers, where.limit);
      });
      const best = found.toSorted((a, b) => a.rank - b.rank || b.rowid - a.rowid).slice(0, where.limit);
      if (best.length > 0) return best.map(({ rowid }) => placeOf(rowid).seq);
    }
    return [];
  }

  /** Messages of a session, or of stretches of it, of which a search sees only a part. Of those that were indexed so far. */
  countPartial(sessionId: string, ranges: readonly SeqRange[] | null = null): number {
    const indexed = this.#load(sessionId);
    if (indexed === null) return 0;
    const { n } = indexed;
    const stretches = ranges?.map(({ fromSeq, toSeq }) => ({ first: rowidOf(n, fromSeq), last: rowidOf(n, toSeq) }));
    return (stretches ?? [{ first: rowidOf(n, 0), last: lastOf(n) }]).flatMap((each) => this.#sql.partialBetween(each))
      .length;
  }

  /** Says that a message has a new content. */
  replaced(sessionId: string, seq: number, message: UIMessage): void {
    const indexed = this.#load(sessionId);
    if (indexed === null || seq > indexed.indexedTo) return;
    this.#sql.deleteWords(rowidOf(indexed.n, seq));
    this.#insert(indexed, seq, message);
  }

  /** Says that messages were deleted. */
  removed(sessionId: string, rows: readonly { readonly seq: number }[]): void {
    const indexed = this.#load(sessionId);
    if (indexed === null) return;
    for (const { seq } of rows) if (seq <= indexed.indexedTo) this.#sql.deleteWords(rowidOf(indexed.n, seq));
  }

  /** Says that a session's messages are about to be deleted, all of them. */
  clearing(sessionId: string): void {
    const indexed = this.#load(sessionId);
    if (indexed === null) return;
    this.#sql.deleteSessionWords(sessionId, indexed);
    this.#sql.deleteIndexed(indexed.n);
    this.#indexed.set(sessionId, null);
  }

  /** Indexes what was stored since the last time; null when nothing ever was. */
  #catchUp(sessionId: string): IndexedRow | null {
    const indexed = this.#load(sessionId);
    const first = this.#sql.messageAfter(sessionId, indexed?.indexedTo ?? -1);
    if (first === undefined) return indexed;
    let waiting: NotAtHand | null = null;
    const reached = this.#db.transaction(() => {
      const n = indexed?.n ?? this.#sql.insertIndexed(sessionId);
      let indexedTo = indexed?.indexedTo ?? -1;
      for (
        let row: SourceRow | undefined = first;
        row !== undefined;
        row = this.#sql.messageAfter(sessionId, row.seq)
      ) {
        const message = this.#readOrWait(sessionId, row);
        if (message instanceof NotAtHand) {
          // What is done stays done: the next try goes on here.
          waiting = message;
          break;
        }
        if (message !== null) this.#insert({ n, indexedTo }, row.seq, message);
        indexedTo = row.seq;
      }
      this.#sql.setIndexedTo(n, indexedTo);
      const caughtUp = { n, indexedTo };
      this.#indexed.set(sessionId, caughtUp);
      return caughtUp;
    });
    if (waiting !== null) throw waiting;
    return reached;
  }

  /** Null for a message that its host pruned; what is to be fetched, some messages at once, where it is not at hand. */
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

  #insert(indexed: IndexedRow, seq: number, message: UIMessage): void {
    const { words, partial } = fitWords(textsOf(message));
    const rowid = rowidOf(indexed.n, seq);
    this.#sql.insertWords(rowid, words);
    if (partial) this.#sql.insertPartial(rowid);
  }

  #load(sessionId: string): IndexedRow | null {
    let indexed = this.#indexed.get(sessionId);
    if (indexed === undefined) {
      indexed = this.#sql.indexed(sessionId) ?? null;
      this.#indexed.set(sessionId, indexed);
    }
    return indexed;
  }
}

/** Everything in a message that was said, asked of a tool or answered by one. */
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

/** The strings and numbers in a value, with the names they have there. */
function addValue(value: unknown, words: string[]): void {
  if (typeof value === "string") {
    // Images, archives, keys: bytes that nobody searches for, in more room than all that is said.
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
