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
import { readQuestion, weightOf, type Ask, type Holding } from "../../steps/recall/asked.ts";
import type { Pieces } from "../../steps/text/pieces.ts";
import { isEncoded } from "../../steps/text/encoded.ts";
import { fieldText, hasResult, innerParts, toolName, toolPart, type Part } from "../../steps/message/tool-parts.ts";
import { isPruned, NotAtHand, type ReadableRow } from "../messages/contents.ts";
import type { Db } from "../db.ts";
import { askExpression, fitWords, matchExpression, queryTerms, snippetTerm } from "./words.ts";
import { lastOf, placeOf, rowidOf, SearchStatements, type IndexedRow, type SourceRow } from "./statements.ts";
import { SearchRows, type SeqRange } from "./search-rows.ts";
import { snippetsFor } from "./snippet.ts";

/** Of messages that have not all of the words: how much of what the best one has makes a hit. */
const MOST_SHARE = 0.5;

/** Rows of the index that are read where no message has all words of a search, and for one thing that is asked for at most. */
const MOST_ROWS = 2_400;
const MOST_HOLDING = 400;

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
  /** Words of the query that the message has not: none, where any message has them all. */
  readonly missing: readonly string[];
  /** True when the message is too long to be searched whole: of its longest texts only beginning and end are. */
  readonly partial: boolean;
  /** Higher is better; comparable within one answer only. */
  readonly score: number;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Numbers of the index, both ends included. */
interface Stretch {
  readonly first: number;
  readonly last: number;
}

interface HoldingOptions {
  readonly sessionId: string;
  readonly ranges: readonly SeqRange[];
  readonly rows: number;
}

/** The content of a message's row. */
type ReadContent = (sessionId: string, row: ReadableRow) => UIMessage;

/** Characters that are indexed before others are let in, some ten milliseconds' worth; and what each message counts besides. */
export const INDEX_PIECE_CHARS = 100_000;
const LEAST_INDEXED_CHARS = 500;

/** Messages that a search asks a host for together: enough to need few turns, few enough to hold in memory. */
const FETCHED_AT_ONCE = 50;

export class MessageSearch extends SearchRows {
  readonly #read: ReadContent;
  readonly #sql: SearchStatements;
  readonly #db: Db;

  constructor(db: Db, read: ReadContent) {
    super(db);
    this.#db = db;
    this.#read = read;
    this.#sql = new SearchStatements(db);
  }

  /**
   * The messages that hold every word of the query: `word`, `begin*`, `"some phrase"`, the first 32 different ones; where none
   * does, those that hold most of them, in any form, each with the words that it has not. Anything else in a query is looked for
   * as text, so no query is malformed; one without any letter or digit finds nothing. Best match first. Throws `invalid_options`.
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
    const indexed = sessionIds.flatMap((each) => {
      const row = this.#catchUp(each);
      return row === null ? [] : [{ ...row, sessionId: each }];
    });
    if (indexed.length === 0) return [];
    const only = sessionId === undefined ? null : (indexed[0]?.n ?? null);
    const all = this.#sql.matches(`words : (${match})`, only, limit);
    const found =
      all.length > 0
        ? { matches: all.map(({ rowid, rank }) => ({ rowid, score: -rank, missing: [] })), terms: queryTerms(query) }
        : this.#findMost(query, { indexed, limit });
    const snippetOf = snippetsFor(found.terms);
    const partial = this.#partialAmong(found.matches.map(({ rowid }) => rowid));
    const sessions = new Map(indexed.map((each) => [each.n, each.sessionId]));
    return found.matches.flatMap(({ rowid, score, missing }) => {
      const { n, seq } = placeOf(rowid);
      const session = sessions.get(n);
      const message = session === undefined ? undefined : this.#sql.message(session, seq);
      if (session === undefined || message === undefined) return [];
      const snippet = snippetOf(this.#sql.words(rowid));
      return [{ sessionId: session, ...message, snippet, missing, partial: partial.has(rowid), score }];
    });
  }

  /** The messages that have most of what is asked for, by what its words tell; the newer of equals first. */
  #findMost(query: string, { indexed, limit }: { indexed: readonly IndexedRow[]; limit: number }) {
    const asks = readQuestion(query);
    const newest = indexed.toSorted((a, b) => b.n - a.n);
    const stretches = newest.map(({ n }) => ({ first: rowidOf(n, 0), last: lastOf(n) }));
    const messages = indexed.reduce((sum, { indexedTo }) => sum + indexedTo + 1, 0);
    const held = this.#newestOf(asks, {
      stretches: indexed.length === 1 ? stretches : [span(stretches)],
      rows: MOST_ROWS,
    }).map(({ rowids }, at) => ({
      word: asks[at]?.word ?? "",
      weight: weightOf({ seqs: rowids, isAll: true }, messages),
      rowids: new Set(rowids),
    }));
    const scores = new Map<number, number>();
    for (const { weight, rowids } of held)
      for (const rowid of rowids) scores.set(rowid, (scores.get(rowid) ?? 0) + weight);
    const best = Math.max(0, ...scores.values());
    const ranked = [...scores].filter(([, score]) => score >= best * MOST_SHARE);
    const matches = ranked
      .toSorted((a, b) => b[1] - a[1] || b[0] - a[0])
      .slice(0, limit)
      .map(([rowid, score]) => {
        return { rowid, score, missing: held.flatMap(({ word, rowids }) => (rowids.has(rowid) ? [] : [word])) };
      });
    return { matches, terms: asks.map(snippetTerm) };
  }

  #partialAmong(rowids: readonly number[]): ReadonlySet<number> {
    if (rowids.length === 0) return new Set();
    return new Set(this.#sql.partialBetween({ first: Math.min(...rowids), last: Math.max(...rowids) }));
  }

  /**
   * For each thing that is asked for, the messages in `ranges` that have it, newest first. All of them share `rows`: what many
   * messages have tells little, whichever of them are known.
   */
  holding(asks: readonly Ask[], { sessionId, ranges, rows }: HoldingOptions): Holding[] {
    const indexed = this.#catchUp(sessionId);
    if (indexed === null) return asks.map(() => ({ seqs: [], isAll: true }));
    const stretches = ranges
      .toSorted((a, b) => b.toSeq - a.toSeq)
      .map(({ fromSeq, toSeq }) => ({ first: rowidOf(indexed.n, fromSeq), last: rowidOf(indexed.n, toSeq) }));
    const found = this.#newestOf(asks, { stretches, rows });
    return found.map(({ rowids, isAll }) => ({ seqs: rowids.map((rowid) => placeOf(rowid).seq), isAll }));
  }

  /** For each thing that is asked for, the numbers of the messages that have it, newest first. The newest stretch comes first. */
  #newestOf(asks: readonly Ask[], { stretches, rows }: { stretches: readonly Stretch[]; rows: number }) {
    const most = Math.min(MOST_HOLDING, Math.ceil(rows / Math.max(1, asks.length)));
    return asks.map((ask) => {
      const rowids: number[] = [];
      for (const numbers of stretches) {
        rowids.push(...this.#sql.newestMatches(askExpression(ask), numbers, most - rowids.length + 1));
        if (rowids.length > most) return { rowids: rowids.slice(0, most), isAll: false };
      }
      return { rowids, isAll: true };
    });
  }

  override replaced(sessionId: string, seq: number, message: UIMessage): void {
    const indexed = this.load(sessionId);
    if (indexed === null || seq > indexed.indexedTo) return;
    this.#sql.deleteWords(rowidOf(indexed.n, seq));
    this.#insert(indexed, seq, message);
  }

  /**
   * Indexes what was stored since the last time, of one session or of all, {@link INDEX_PIECE_CHARS} or one message at a time. What
   * is done stays done, whoever goes on: a search indexes what is left, whatever that is.
   */
  *catchUp(sessionId?: string): Pieces<void> {
    const sessionIds = sessionId === undefined ? this.#sql.sessionIds().map((row) => row.sessionId) : [sessionId];
    for (const each of sessionIds) while (!this.#index(each, INDEX_PIECE_CHARS).isAll) yield;
  }

  /** All that there is to index; null when nothing ever was. */
  #catchUp(sessionId: string): IndexedRow | null {
    return this.#index(sessionId, Infinity).indexed;
  }

  /** Until so many characters are read. */
  #index(sessionId: string, chars: number): { indexed: IndexedRow | null; isAll: boolean } {
    const indexed = this.load(sessionId);
    const first = this.#sql.messageAfter(sessionId, indexed?.indexedTo ?? -1);
    if (first === undefined) return { indexed, isAll: true };
    let waiting: NotAtHand | null = null;
    const reached = this.#db.transaction(() => {
      const n = indexed?.n ?? this.#sql.insertIndexed(sessionId);
      let indexedTo = indexed?.indexedTo ?? -1;
      let left = chars;
      let row: SourceRow | undefined = first;
      for (; row !== undefined && left > 0; row = this.#sql.messageAfter(sessionId, row.seq)) {
        const message = this.#readOrWait(sessionId, row);
        if (message instanceof NotAtHand) {
          // What is done stays done: the next try goes on here.
          waiting = message;
          break;
        }
        if (message !== null) left -= this.#insert({ n, indexedTo }, row.seq, message);
        indexedTo = row.seq;
      }
      this.#sql.setIndexedTo(n, indexedTo);
      const caughtUp = { n, indexedTo };
      this.reached(sessionId, caughtUp);
      return { indexed: caughtUp, isAll: row === undefined };
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

  /** How many characters it has. */
  #insert(indexed: IndexedRow, seq: number, message: UIMessage): number {
    const { words, forms, partial } = fitWords(textsOf(message));
    const rowid = rowidOf(indexed.n, seq);
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
