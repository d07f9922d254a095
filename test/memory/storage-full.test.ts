/** Full storage. The call is refused with a code and advice, and stores nothing. */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { errorCode, PalimpsestError } from "../../src/errors.ts";
import { Db, MAX_DATABASE_BYTES } from "../../src/memory/db.ts";
import { Memory } from "../../src/memory/memory.ts";
import type { Storage } from "../../src/memory/schema.ts";
import { fill, say } from "./probe.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

/** The code of our own error, with its advice, and not of the platform's error behind it. */
function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof PalimpsestError && error.message.includes("Delete sessions") ? error.code : String(error);
  }
}

function refuse(): never {
  throw new Error("database or disk is full: SQLITE_FULL");
}

/** A storage that is full while the switch says so, for statements that write or for the end of a transaction. */
function fillable(real: DurableObjectStorage) {
  const full: { at: "write" | "commit" | "size" | null } = { at: null };
  const sql: Storage["sql"] = {
    get databaseSize() {
      return full.at === "size" ? MAX_DATABASE_BYTES : real.sql.databaseSize;
    },
    exec: (query, ...bindings) =>
      full.at === "write" && /^\s*(?:INSERT|UPDATE)/.test(query) ? refuse() : real.sql.exec(query, ...bindings),
  };
  const transactionSync = <T>(work: () => T): T =>
    real.transactionSync(() => {
      const result = work();
      return full.at === "commit" ? refuse() : result;
    });
  return { full, storage: { sql, transactionSync } satisfies Storage };
}

test("what the platform says of a commit that broke the object has the same code", () => {
  expect(errorCode(new Error("database or disk is full: SQLITE_FULL"))).toBe("storage_full");
  expect(errorCode(new Error("no such table: full"))).toBeUndefined();
});

test.for(["write", "commit", "size"] as const)(
  "while storage is full (at a %s) a write is refused as storage_full, reads go on, and room lets it through",
  async (at) => {
    await runInDurableObject(env.StorageProbe.get(env.StorageProbe.newUniqueId()), (_object, { storage: real }) => {
      const { full, storage } = fillable(real);
      const history = new Memory(new Db(storage), { counterOf: () => estimateTokens, now: () => 1_000 }).session("");
      fill(history, 1, 5);
      full.at = at;
      expect(codeOf(() => history.append(say("m6")))).toBe("storage_full");
      expect(codeOf(() => history.update(say("m3", "other words")))).toBe("storage_full");
      expect(history.leafId()).toBe("m5");
      expect(history.getHistory()).toHaveLength(5);
      if (at === "size") expect(history.delete(["m5"])).toBe(1);
      full.at = null;
      if (at === "size") history.append(say("m5"));
      expect(history.append(say("m6")).inserted).toBe(true);
      expect(history.getHistory().map(({ id }) => id)).toEqual(["m1", "m2", "m3", "m4", "m5", "m6"]);
    });
  },
);
