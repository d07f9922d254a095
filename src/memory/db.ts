/**
 * The database of one Durable Object: the only thing that runs SQL on it, counts its rows and opens its transactions.
 *
 * What is kept in memory of rows is registered with {@link Db.cached}. A rollback drops all of it, so that nothing in
 * memory can say what was taken back. News of a change waits with {@link Db.afterCommit} until the change stands.
 *
 * A table is made in the transaction that first writes to it. Until then a statement that reads it finds nothing.
 */
import { errorCode, PalimpsestError } from "../errors.ts";
import { makeFamily, needsOf, openSchema, type Family, type Needs, type Storage } from "./schema.ts";

/** Kept for the ledger, summaries and deletions once no more messages are taken (bytes): the largest message is a fifth of it. */
const RESERVED_BYTES = 100_000_000;

/** What the platform lets one Durable Object store (bytes). */
export const MAX_DATABASE_BYTES = 10_000_000_000;

/** Rows read and written since this object was made, as the platform bills them. */
export interface Meter {
  rowsRead: number;
  rowsWritten: number;
}

export type Row = Record<string, SqlStorageValue>;
export type Binding = SqlStorageValue | Uint8Array;

/** What is kept in memory of rows, and can be read from them again. A `Map` by session id is one. */
export interface Cache {
  clear(): void;
  /** Drops what belongs to one session; absent where nothing does. */
  delete?(sessionId: string): unknown;
}

export class Db {
  readonly meter: Meter = { rowsRead: 0, rowsWritten: 0 };
  readonly #storage: Storage;
  readonly #caches: Cache[] = [];
  readonly #news: (() => void)[] = [];
  /** By statement. There are as many as are written down in the code. */
  readonly #needs = new Map<string, Needs>();
  /** The tables that are there, by family. Never changed in place: a rollback puts back the set from before. */
  #made: ReadonlySet<Family>;
  #depth = 0;

  /** Throws `newer_schema`. */
  constructor(storage: Storage) {
    this.#made = openSchema(storage);
    this.#storage = storage;
  }

  /** Runs one statement; its rows. Throws `storage_full`. */
  run<Found extends Row>(sql: string, ...bindings: readonly Binding[]): Found[] {
    const { makes, reads } = this.#needsOf(sql);
    if (!reads.every((family) => this.#made.has(family))) return [];
    if (makes !== null && !this.#made.has(makes)) return this.transaction(() => this.#runNew(makes, sql, bindings));
    return this.#exec(sql, bindings);
  }

  #runNew<Found extends Row>(family: Family, sql: string, bindings: readonly Binding[]): Found[] {
    this.#made = makeFamily(this.#storage, family);
    return this.#exec(sql, bindings);
  }

  #exec<Found extends Row>(sql: string, bindings: readonly Binding[]): Found[] {
    try {
      const cursor = this.#storage.sql.exec<Found>(sql, ...bindings);
      const rows = cursor.toArray();
      this.#count(cursor);
      return rows;
    } catch (error) {
      throw explained(error);
    }
  }

  /** Rows as they are asked for. Never kept over a write: a rollback aborts the cursor. */
  *each<Found extends Row>(sql: string, ...bindings: readonly Binding[]): Generator<Found> {
    if (!this.#needsOf(sql).reads.every((family) => this.#made.has(family))) return;
    const cursor = this.#storage.sql.exec<Found>(sql, ...bindings);
    let counted = 0;
    for (const row of cursor) {
      this.meter.rowsRead += cursor.rowsRead - counted;
      counted = cursor.rowsRead;
      yield row;
    }
    this.meter.rowsRead += cursor.rowsRead - counted;
  }

  /**
   * Does the work whole or not at all; may be nested. The work must not be async: what it did after its first `await` would
   * be outside. Throws what the work throws, and `storage_full`.
   */
  transaction<T>(work: () => T): T {
    const waiting = this.#news.length;
    const made = this.#made;
    let result: T;
    this.#depth++;
    try {
      result = this.#storage.transactionSync(work);
    } catch (error) {
      this.#news.length = waiting;
      this.#made = made;
      for (const cache of this.#caches) cache.clear();
      throw explained(error);
    } finally {
      this.#depth--;
    }
    if (this.#depth === 0) this.#tellNews();
    return result;
  }

  /**
   * Call before anything is added that may be refused. What runs full in the middle of a commit breaks the object, and its
   * clients hear nothing; and deleting takes room as well. Throws `storage_full`.
   */
  mustHaveRoom(): void {
    if (this.#storage.sql.databaseSize > MAX_DATABASE_BYTES - RESERVED_BYTES) throw storageFull();
  }

  /** Calls `tell` once the outermost transaction stands, never when it is rolled back; at once outside of any. */
  afterCommit(tell: () => void): void {
    this.#news.push(tell);
    if (this.#depth === 0) this.#tellNews();
  }

  /** Registers a cache. A rollback drops all of it; clearing or deleting a session drops what belongs to that session. */
  cached<Kept extends Cache>(cache: Kept): Kept {
    this.#caches.push(cache);
    return cache;
  }

  /** Drops what is kept in memory of a session whose rows were taken away. */
  forget(sessionId: string): void {
    for (const cache of this.#caches) cache.delete?.(sessionId);
  }

  #needsOf(sql: string): Needs {
    const known = this.#needs.get(sql);
    if (known !== undefined) return known;
    const needs = needsOf(sql);
    this.#needs.set(sql, needs);
    return needs;
  }

  #tellNews(): void {
    for (let tell = this.#news.shift(); tell !== undefined; tell = this.#news.shift()) tell();
  }

  #count(cursor: { readonly rowsRead: number; readonly rowsWritten: number }): void {
    this.meter.rowsRead += cursor.rowsRead;
    this.meter.rowsWritten += cursor.rowsWritten;
  }
}

/** An error of the platform that says that storage is full, in our own words; any other as it is. */
function explained(error: unknown): unknown {
  return errorCode(error) === "storage_full" && !(error instanceof PalimpsestError) ? storageFull(error) : error;
}

function storageFull(cause?: unknown): PalimpsestError {
  return new PalimpsestError(
    "storage_full",
    "This Durable Object's storage is full. Nothing of the call was stored. Delete sessions that are no longer needed, then make the call again.",
    { cause },
  );
}
