/**
 * Counts rows as the platform bills them, for any code that runs in the object.
 *
 * Every store under test is counted in this one way: at the object's `sql.exec`, put in place before the store sees it.
 * A cursor counts as it is read, so a count is taken only after the work is done. While it is off, nothing is kept, and
 * times are taken then.
 */
export interface Rows {
  readonly read: number;
  readonly written: number;
}

type Cursors = SqlStorageCursor<Record<string, SqlStorageValue>>[];

export class Meter {
  #cursors: Cursors | null;

  /** `fromStart`: what the object does of itself is counted too, until {@link takeStart}. */
  constructor({ sql }: DurableObjectStorage, fromStart = false) {
    this.#cursors = fromStart ? [] : null;
    const exec: SqlStorage["exec"] = sql.exec.bind(sql);
    const counted: SqlStorage["exec"] = (query, ...bindings) => {
      const cursor = exec(query, ...bindings);
      this.#cursors?.push(cursor);
      return cursor as never;
    };
    Object.defineProperty(sql, "exec", { value: counted });
  }

  async count(work: () => Promise<unknown>): Promise<Rows> {
    const cursors: Cursors = [];
    this.#cursors = cursors;
    await work();
    this.#cursors = null;
    return sum(cursors);
  }

  /** All since the object was made. */
  takeStart(): Rows {
    const cursors = this.#cursors ?? [];
    this.#cursors = null;
    return sum(cursors);
  }
}

function sum(cursors: Cursors): Rows {
  return {
    read: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0),
    written: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
  };
}
