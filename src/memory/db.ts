/**
 * The database of one Durable Object. Only this module and schema.ts run SQL on it. Only this module counts rows and
 * opens transactions.
 *
 * Each cache of rows is registered with {@link Db.cached}. A rollback clears every cache, so no cache keeps rows that
 * were taken back. Notifications wait with {@link Db.afterCommit} until the change is committed.
 *
 * A table is made in the transaction that first writes to it. Until then a statement that reads it finds nothing.
 */
import { errorCode, PalimpsestError } from "../errors.ts";
import { FORGOTTEN, makeFamily, needsOf, openSchema, type Family, type Storage } from "./schema.ts";

/** Storage for the ledger, summaries and deletions once messages are refused (bytes). The largest message is a sixth of it. */
const RESERVED_BYTES = 100_000_000;

/** The platform's limit for the storage of one Durable Object (bytes). */
export const MAX_DATABASE_BYTES = 10_000_000_000;

/** Rows read and written since this object was made, as the platform bills them. */
export interface Meter {
  rowsRead: number;
  rowsWritten: number;
}

export type Row = Record<string, SqlStorageValue>;
export type Binding = SqlStorageValue | Uint8Array;
type NewRow = Readonly<Record<string, Binding>>;

/** An in-memory copy of rows that can be read again. A `Map` by session id is one. */
export interface Cache {
  clear(): void;
  /** Drops the entries of one session. Absent where the cache does not hold entries by session. */
  delete?(sessionId: string): unknown;
}

/** The storage of an object, with the transactions that its own code may begin. */
interface OwnTransactions {
  transactionSync<T>(closure: () => T): T;
  transaction?<T>(closure: (transaction: never) => Promise<T>): Promise<T>;
}

interface Watched {
  /** The storage without our ears, for transactions of our own. */
  readonly plain: Storage;
  readonly listeners: Set<WeakRef<Db>>;
}

const watched = new WeakMap<Storage, Watched>();

/**
 * An agent's own code may call us inside `ctx.storage.transaction` or `transactionSync` and roll back. The platform tells
 * nobody, so both are wrapped on the storage object, once. The asynchronous one may be rolled back without an error, so its
 * end always counts.
 */
function hearRollbacks(storage: Storage & OwnTransactions, db: Db): Storage {
  const known = watched.get(storage);
  if (known !== undefined) {
    known.listeners.add(new WeakRef(db));
    return known.plain;
  }
  const transactionSync = storage.transactionSync.bind(storage);
  const transaction = storage.transaction?.bind(storage);
  const listeners = new Set([new WeakRef(db)]);
  const tell = (): void => {
    for (const listener of listeners) listener.deref()?.takenBack();
  };
  storage.transactionSync = (closure) => {
    try {
      return transactionSync(closure);
    } catch (error) {
      tell();
      throw error;
    }
  };
  if (transaction !== undefined) {
    storage.transaction = async (closure) => {
      try {
        return await transaction(closure);
      } finally {
        tell();
      }
    };
  }
  const plain: Storage = { sql: storage.sql, transactionSync };
  watched.set(storage, { plain, listeners });
  return plain;
}

/** What is forgotten of a session (see `FORGOTTEN` in schema.ts). */
export interface Forgotten {
  readonly sessionId: string;
  readonly what: "edited" | "deleted" | "cleared" | "gone";
  readonly seqs: readonly number[];
}

export class Db {
  readonly meter: Meter = { rowsRead: 0, rowsWritten: 0 };
  readonly #storage: Storage;
  readonly #caches: Cache[] = [];
  readonly #news: (() => void)[] = [];
  readonly #hearing: ((forgotten: Forgotten) => void)[] = [];
  /** The families whose tables exist. Replaced and never mutated, so that a rollback can restore the earlier set. */
  #made: ReadonlySet<Family>;
  #depth = 0;

  /** Throws `unknown_schema`. */
  constructor(storage: Storage) {
    this.#made = openSchema(storage);
    this.#storage = hearRollbacks(storage, this);
  }

  /** A transaction of the agent's own code was rolled back, and our statements inside it with it. */
  takenBack(): void {
    for (const cache of this.#caches) cache.clear();
    this.#made = openSchema(this.#storage);
  }

  /** Runs one statement and returns its rows. Throws `storage_full`. */
  run<Found extends Row>(sql: string, ...bindings: readonly Binding[]): Found[] {
    const { makes, reads } = needsOf(sql);
    if (!reads.every((family) => this.#made.has(family))) return [];
    if (makes !== null && !this.#made.has(makes)) return this.transaction(() => this.#runNew(makes, sql, bindings));
    return this.#exec(sql, bindings);
  }

  /** Makes a family of indexes, which no statement names. */
  make(family: Family): void {
    if (this.#made.has(family)) return;
    this.transaction(() => {
      this.#made = makeFamily(this.#storage, family);
    });
  }

  /** Tells the tables of rooms what is forgotten. Free where no room has tables that hear of it. */
  tellForgotten(sessionId: string, what: Forgotten["what"], seqs: readonly number[] = []): void {
    if (!this.#made.has(FORGOTTEN)) return;
    for (const hear of this.#hearing) hear({ sessionId, what, seqs });
    const sql = "INSERT INTO palimpsest_forgotten (session_id, what, seqs) VALUES (?, ?, ?)";
    this.run(sql, sessionId, what, JSON.stringify(seqs));
  }

  /** Calls `hear` in the same transaction before the tables of rooms are told. */
  beforeForgetting(hear: (forgotten: Forgotten) => void): void {
    this.#hearing.push(hear);
  }

  /** Inserts a row, with a column for each of its fields (see {@link columns}). `otherwise` says what is done where its key is taken. */
  insert(table: string, row: NewRow, otherwise = ""): void {
    this.#put(`INSERT INTO ${table}`, row, otherwise);
  }

  /** Inserts a row in the place of the one with its key. */
  replace(table: string, row: NewRow): void {
    this.#put(`INSERT OR REPLACE INTO ${table}`, row);
  }

  #put(into: string, row: NewRow, otherwise = ""): void {
    const names = Object.keys(row).map(snakeCase);
    const sql = `${into} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) ${otherwise}`;
    this.run(sql, ...Object.values(row));
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

  /** Yields rows one by one. Do not keep the generator over a write, because a rollback aborts its cursor. */
  *each<Found extends Row>(sql: string, ...bindings: readonly Binding[]): Generator<Found> {
    if (!needsOf(sql).reads.every((family) => this.#made.has(family))) return;
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
   * Runs the work in a transaction, which may be nested. The work must be synchronous, because anything after its first
   * `await` would run outside the transaction. Rethrows the work's error. Throws `storage_full`.
   */
  transaction<T>(work: (() => T) & (T extends PromiseLike<unknown> ? never : unknown)): T {
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
   * Call this before any append that may be refused. A commit that runs out of storage breaks the object, and its clients
   * get no error. Deletions need storage as well. Throws `storage_full`.
   */
  assertStorageLeft(): void {
    if (this.#storage.sql.databaseSize > MAX_DATABASE_BYTES - RESERVED_BYTES) throw storageFull();
  }

  /**
   * Calls `tell` after the outermost transaction commits, and never after a rollback. Outside a transaction it calls at
   * once.
   */
  afterCommit(tell: () => void): void {
    this.#news.push(tell);
    if (this.#depth === 0) this.#tellNews();
  }

  /** Registers a cache. A rollback clears it. Clearing or deleting a session drops that session's entries. */
  cached<Kept extends Cache>(cache: Kept): Kept {
    this.#caches.push(cache);
    return cache;
  }

  /** Drops the cached entries of a session whose rows were deleted. */
  forget(sessionId: string): void {
    for (const cache of this.#caches) cache.delete?.(sessionId);
  }

  #tellNews(): void {
    for (let tell = this.#news.shift(); tell !== undefined; tell = this.#news.shift()) tell();
  }

  #count(cursor: { readonly rowsRead: number; readonly rowsWritten: number }): void {
    this.meter.rowsRead += cursor.rowsRead;
    this.meter.rowsWritten += cursor.rowsWritten;
  }
}

/** For {@link Db.insert}: the tokens of a row that is there already are added up. */
export const ADDED_UP = "ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens";

/** The columns of some fields, for a statement whose rows have those fields: `topSeq` is `top_seq AS topSeq`. */
export function columns(...fields: readonly string[]): string {
  return fields.map((field) => `${snakeCase(field)} AS ${field}`).join(", ");
}

function snakeCase(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Turns the platform's storage-full error into our own. Returns any other error unchanged. */
function explained(error: unknown): unknown {
  return errorCode(error) === "storage_full" && !(error instanceof PalimpsestError) ? storageFull(error) : error;
}

function storageFull(cause?: unknown): PalimpsestError {
  return new PalimpsestError(
    "storage_full",
    "This Durable Object's storage is full. Nothing of the call was stored. Delete sessions that nobody needs.",
    { cause },
  );
}
