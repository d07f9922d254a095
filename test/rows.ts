/** Reads the tables of a Durable Object, for tests that nothing is left or that nothing was written. */

/** A table's rows. Empty before the first write to it, because the table does not exist yet. */
export function rowsOf({ sql }: DurableObjectStorage, table: string): Record<string, SqlStorageValue>[] {
  const found = sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", table).toArray();
  return found.length === 0 ? [] : sql.exec(`SELECT * FROM ${table}`).toArray();
}

/** The rows of every table of ours, by table, as texts. Leaves out tables without rows of a session. */
export function tables(storage: DurableObjectStorage): Map<string, string> {
  // FTS5 writes its pending changes when a savepoint begins.
  storage.transactionSync(() => undefined);
  const found = storage.sql
    .exec<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .toArray()
    .filter(({ name, sql }) => name.startsWith("palimpsest_") && !sql.startsWith("CREATE VIRTUAL"))
    .filter(({ name }) => !/_(?:schema|health)$/.test(name) && !/_(?:config|idx|docsize)$/.test(name));
  return new Map(found.map(({ name }) => [name, textOfTable(storage, name)]));
}

/** The rows of every table, ours, the SDK's and an index's own, as texts, for tests that a session left nothing. */
export function everyTable(storage: DurableObjectStorage): Map<string, string> {
  storage.transactionSync(() => undefined);
  const found = storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
  // The platform's own tables cannot be read.
  const readable = found.map(({ name }) => name).filter((name) => !name.startsWith("_cf_"));
  return new Map(readable.map((name) => [name, textOfTable(storage, name)]));
}

function textOfTable(storage: DurableObjectStorage, name: string): string {
  const values = storage.sql
    .exec(`SELECT * FROM ${name}`)
    .toArray()
    .flatMap((row) => Object.values(row));
  return values
    .map((value) => (value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : String(value)))
    .join("\n");
}
