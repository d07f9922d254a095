/**
 * Counts rows as the platform bills them, for any code that runs in the object.
 *
 * Counts every store in the same way, at the object's `sql.exec` and at `get`, `put`, `delete` and `list` of its keys, which are rows of a
 * hidden table. The meter is in place before the store sees them. A requested or deleted key is a row whether it exists or not. A list is a
 * row for each of its entries. A set alarm is a row written.
 *
 * Keys within `transaction` and `deleteAll` are not seen, because nothing under test uses them. A cursor counts as it is read, so a count
 * is taken only after the work is done. While the meter is off it keeps nothing, and times are taken then. Rows that the local platform
 * writes for itself into each object are left out, because they do not exist on Cloudflare.
 */
export interface Rows {
  readonly read: number;
  readonly written: number;
}

/** A cursor, or the rows of keys and alarms. */
interface Counting {
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** A part of every statement that the local platform issues itself. */
const LOCAL = "__miniflare";

export class Meter {
  #counting: Counting[] | null;
  #inStart: boolean;

  /** `fromStart` also counts what the object does before its first call, until {@link takeStart}. */
  constructor(storage: DurableObjectStorage, fromStart = false) {
    this.#counting = fromStart ? [] : null;
    this.#inStart = fromStart;
    const { sql } = storage;
    const exec: SqlStorage["exec"] = sql.exec.bind(sql);
    const counted: SqlStorage["exec"] = (query, ...bindings) => {
      const cursor = exec(query, ...bindings);
      if (!query.includes(LOCAL)) this.#counting?.push(cursor);
      return cursor as never;
    };
    Object.defineProperty(sql, "exec", { value: counted });
    for (const keys of [storage, storage.kv]) {
      this.#watch(keys, "get", (key) => ({ rowsRead: countKeys(key), rowsWritten: 0 }));
      this.#watch(keys, "put", (key) => ({ rowsRead: 0, rowsWritten: countKeys(key) }));
      this.#watch(keys, "delete", (key) => ({ rowsRead: 0, rowsWritten: countKeys(key) }));
    }
    this.#watchLists(storage);
    this.#watch(storage, "setAlarm", () => ({ rowsRead: 0, rowsWritten: 1 }));
  }

  async count(work: () => Promise<unknown>): Promise<Rows> {
    const counting: Counting[] = [];
    this.#counting = counting;
    await work();
    this.#counting = null;
    return sum(counting);
  }

  /** All rows since the object was made. Null where that was not asked for, or was taken already. Ends the counting of its start. */
  takeStart(): Rows | null {
    const counting = this.#counting;
    if (!this.#inStart || counting === null) return null;
    this.#counting = null;
    this.#inStart = false;
    return sum(counting);
  }

  /** A list counts the entries that it returns. A list that is read entry by entry counts the entries that are read. */
  #watchLists(storage: DurableObjectStorage): void {
    const { kv } = storage;
    const list: DurableObjectStorage["list"] = Reflect.get(storage, "list");
    const listNow: SyncKvStorage["list"] = Reflect.get(kv, "list");
    const count = (rowsRead: number): void => void this.#counting?.push({ rowsRead, rowsWritten: 0 });
    const counted = async (options?: DurableObjectListOptions): Promise<Map<string, unknown>> => {
      const entries = await list.call(storage, options);
      count(entries.size);
      return entries;
    };
    const countedNow = function* (options?: SyncKvListOptions): Generator<[string, unknown]> {
      for (const entry of listNow.call(kv, options)) {
        count(1);
        yield entry;
      }
    };
    Object.defineProperty(storage, "list", { value: counted });
    Object.defineProperty(kv, "list", { value: countedNow });
  }

  /** Counts a call's rows, however it ends. */
  #watch(of: object, method: "get" | "put" | "delete" | "setAlarm", rows: (first: unknown) => Counting): void {
    const call = Reflect.get(of, method) as (...given: readonly unknown[]) => unknown;
    const watched = (...given: readonly unknown[]): unknown => {
      this.#counting?.push(rows(given[0]));
      return call.apply(of, given as unknown[]);
    };
    Object.defineProperty(of, method, { value: watched });
  }
}

/** One key, a list of them, or values by their keys. */
function countKeys(given: unknown): number {
  if (Array.isArray(given)) return given.length;
  return typeof given === "object" && given !== null ? Object.keys(given).length : 1;
}

function sum(counting: readonly Counting[]): Rows {
  return {
    read: counting.reduce((sum, each) => sum + each.rowsRead, 0),
    written: counting.reduce((sum, each) => sum + each.rowsWritten, 0),
  };
}
