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

export class Meter {
  #cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] | null = null;

  constructor({ sql }: DurableObjectStorage) {
    const exec: SqlStorage["exec"] = sql.exec.bind(sql);
    const counted: SqlStorage["exec"] = (query, ...bindings) => {
      const cursor = exec(query, ...bindings);
      this.#cursors?.push(cursor);
      return cursor as never;
    };
    Object.defineProperty(sql, "exec", { value: counted });
  }

  async count(work: () => Promise<unknown>): Promise<Rows> {
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    this.#cursors = cursors;
    await work();
    this.#cursors = null;
    return {
      read: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0),
      written: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
    };
  }
}
