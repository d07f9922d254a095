/**
 * What every agent knows of the search index: which of its words must go.
 *
 * Searching is an optional room. An agent that was declared with it before may have an index, so what is edited or deleted leaves
 * that index whether or not the room is still there (S2).
 */
import type { UIMessage } from "ai";
import type { Db } from "../db.ts";
import { ForgetStatements, lastOf, rowidOf, type IndexedRow } from "./statements.ts";

/** A stretch of the session's messages, both ends included. */
export interface SeqRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

export class SearchRows {
  readonly #sql: ForgetStatements;
  /** By session; null for one that is not indexed. What is not in here was not asked for yet. */
  readonly #indexed: Map<string, IndexedRow | null>;

  constructor(db: Db) {
    this.#sql = new ForgetStatements(db);
    this.#indexed = db.cached(new Map());
  }

  /** Messages of a session, or of stretches of it, of which a search sees only a part. Of those that were indexed so far. */
  countPartial(sessionId: string, ranges: readonly SeqRange[] | null = null): number {
    const indexed = this.load(sessionId);
    if (indexed === null) return 0;
    const { n } = indexed;
    const stretches = ranges?.map(({ fromSeq, toSeq }) => ({ first: rowidOf(n, fromSeq), last: rowidOf(n, toSeq) }));
    return (stretches ?? [{ first: rowidOf(n, 0), last: lastOf(n) }]).flatMap((each) => this.#sql.partialBetween(each))
      .length;
  }

  /** Says that a message has a new content. Without a room that could read it, the next search indexes the session anew. */
  replaced(sessionId: string, seq: number, _message: UIMessage): void {
    const indexed = this.load(sessionId);
    if (indexed !== null && seq <= indexed.indexedTo) this.clearing(sessionId);
  }

  /** Says that messages were deleted. */
  removed(sessionId: string, rows: readonly { readonly seq: number }[]): void {
    const indexed = this.load(sessionId);
    if (indexed === null) return;
    for (const { seq } of rows) if (seq <= indexed.indexedTo) this.#sql.deleteWords(rowidOf(indexed.n, seq));
  }

  /** Says that a session's messages are about to be deleted, all of them. */
  clearing(sessionId: string): void {
    const indexed = this.load(sessionId);
    if (indexed === null) return;
    this.#sql.deleteSessionWords(sessionId, indexed);
    this.#sql.deleteIndexed(indexed.n);
    this.reached(sessionId, null);
  }

  /** How far a session is indexed. */
  protected load(sessionId: string): IndexedRow | null {
    let indexed = this.#indexed.get(sessionId);
    if (indexed === undefined) {
      indexed = this.#sql.indexed(sessionId) ?? null;
      this.#indexed.set(sessionId, indexed);
    }
    return indexed;
  }

  protected reached(sessionId: string, indexed: IndexedRow | null): void {
    this.#indexed.set(sessionId, indexed);
  }
}
