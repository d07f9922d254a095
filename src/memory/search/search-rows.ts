/**
 * Removes words from the search index, and vectors beside it. Every agent has this part of the index.
 *
 * Searching is an optional room. An agent that declared it earlier may still have an index, so edited or deleted text
 * must leave that index even if the room is gone (S2).
 */
import type { UIMessage } from "ai";
import type { Db } from "../db.ts";
import { ForgetStatements, lastOf, rowidOf, type IndexedRow } from "./statements.ts";

/** A range of the session's messages, both ends included. */
export interface SeqRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

export class SearchRows {
  readonly #sql: ForgetStatements;
  /** By session. Null for a session that is not indexed. A missing entry was not read yet. */
  readonly #indexed: Map<string, IndexedRow | null>;

  constructor(db: Db) {
    this.#sql = new ForgetStatements(db);
    this.#indexed = db.cached(new Map());
  }

  /** Counts the indexed messages, in a session or in ranges of it, of which a search sees only a part. */
  countPartial(sessionId: string, ranges: readonly SeqRange[] | null = null): number {
    const indexed = this.load(sessionId);
    if (indexed === null) return 0;
    const { n } = indexed;
    const stretches = ranges?.map(({ fromSeq, toSeq }) => ({ first: rowidOf(n, fromSeq), last: rowidOf(n, toSeq) }));
    return (stretches ?? [{ first: rowidOf(n, 0), last: lastOf(n) }]).flatMap((each) => this.#sql.partialBetween(each))
      .length;
  }

  /**
   * Call it when a message has new content. Without the search room it drops the session's index, and the next search
   * rebuilds that.
   */
  replaced(sessionId: string, seq: number, _message: UIMessage): void {
    this.#sql.deleteVectors(sessionId, seq);
    const indexed = this.load(sessionId);
    if (indexed !== null && seq <= indexed.indexedTo) this.clearing(sessionId);
  }

  /** Call it when messages were deleted. */
  removed(sessionId: string, rows: readonly { readonly seq: number }[]): void {
    for (const { seq } of rows) this.#sql.deleteVectors(sessionId, seq);
    const indexed = this.load(sessionId);
    if (indexed === null) return;
    const indexedRows = rows.filter(({ seq }) => seq <= indexed.indexedTo);
    this.#sql.deleteWords(indexedRows.map(({ seq }) => rowidOf(indexed.n, seq)));
  }

  /** Call it before all messages of a session are deleted. */
  clearing(sessionId: string): void {
    this.#sql.deleteSessionVectors(sessionId);
    const indexed = this.load(sessionId);
    if (indexed === null) return;
    this.#sql.deleteIndexed(indexed);
    this.reached(sessionId, null);
  }

  /** How far a session is indexed. Null when it is not. */
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
