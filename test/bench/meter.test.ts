/** Rows as they are billed. They are statements and keys of the store, from the object's start on, without the local platform's own. */
import { describe, expect, it } from "vitest";
import { Meter } from "../../bench/objects/meter.ts";

const ENTRIES = new Map([
  ["one", 1],
  ["two", 2],
  ["three", 3],
]);

/** A storage in which every statement reads two rows and writes one. */
function fake(): DurableObjectStorage {
  return {
    sql: { exec: () => ({ rowsRead: 2, rowsWritten: 1 }) },
    kv: { get: () => undefined, put: () => undefined, delete: () => true, list: () => [...ENTRIES] },
    get: async () => undefined,
    put: async () => undefined,
    delete: async () => true,
    list: async () => ENTRIES,
    setAlarm: async () => undefined,
  } as unknown as DurableObjectStorage;
}

describe("a meter", () => {
  it("counts statements, a row for each key, and one for an alarm that is set", async () => {
    const storage = fake();
    const rows = await new Meter(storage).count(async () => {
      storage.sql.exec("SELECT 1");
      storage.kv.get("one");
      await storage.get(["one", "two"]);
      await storage.put({ one: 1, two: 2, three: 3 });
      await storage.setAlarm(5_000);
    });
    expect(rows).toEqual({ read: 2 + 1 + 2, written: 1 + 3 + 1 });
  });

  it("counts a row written for each key that is deleted, and a row read for each entry of a list", async () => {
    const storage = fake();
    const meter = new Meter(storage);
    const deleted = await meter.count(async () => {
      storage.kv.delete("one");
      await storage.delete(["two", "three"]);
    });
    expect(deleted).toEqual({ read: 0, written: 1 + 2 });
    const listed = await meter.count(async () => expect(await storage.list({ prefix: "t" })).toBe(ENTRIES));
    expect(listed).toEqual({ read: 3, written: 0 });
    // Read no further than the first.
    const begun = await meter.count(async () => {
      for (const [key] of storage.kv.list()) return expect(key).toBe("one");
    });
    expect(begun).toEqual({ read: 1, written: 0 });
  });

  it("leaves out what the local platform writes for itself", async () => {
    const storage = fake();
    const rows = await new Meter(storage).count(async () => {
      storage.sql.exec("INSERT INTO __miniflare_do_name (id, name) VALUES (1, ?)", "a");
    });
    expect(rows).toEqual({ read: 0, written: 0 });
  });

  it("counts a start from the beginning, once, and only where it was asked for it", () => {
    const [storage, other] = [fake(), fake()];
    const meter = new Meter(storage, true);
    storage.sql.exec("SELECT 1");
    expect(meter.takeStart()).toEqual({ read: 2, written: 1 });
    storage.sql.exec("SELECT 1");
    expect(meter.takeStart()).toBeNull();
    const off = new Meter(other);
    other.sql.exec("SELECT 1");
    expect(off.takeStart()).toBeNull();
  });
});
