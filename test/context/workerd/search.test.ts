/** Entries that are stored in SQLite and found by their words. */
import { describe, expect, test } from "vitest";
import { sqliteSearch } from "../../../src/context/sqlite.ts";
import { dump, NOTHING, withContexts } from "./probe.ts";

describe("entries in SQLite", () => {
  test("are counted in the prompt and found by all words in any order, stems and keys included", async () => {
    await withContexts(async ({ blocks, reopen }) => {
      blocks.withContext("facts", { provider: sqliteSearch });
      expect(await blocks.freezeSystemPrompt()).toMatch(/FACTS \[searchable\]\n═+\n$/);
      await blocks.setContextEntry("facts", { key: "release", content: "The deployment is scheduled for Friday." });
      expect(await blocks.refreshSystemPrompt()).toContain("1 entry, found with search_context.");
      await blocks.setContextEntry("facts", { key: "team", content: "Ana deploys; Ben reviews." });
      const again = reopen().session("").withContext("facts", { provider: sqliteSearch });
      const find = (query: string) => again.searchContext("facts", query);
      expect(await find("friday deployment")).toBe("[release]\nThe deployment is scheduled for Friday.");
      expect(await find('"scheduled for"')).toContain("[release]");
      expect(await find('"for scheduled"')).toBeNull();
      expect(await find("release")).toContain("[release]");
      expect(await find("deploy ben")).toContain("[team]");
      expect(await find("deploying")).toContain("[team]");
    });
  });

  test("are found in scripts without spaces, by any part", async () => {
    await withContexts(async ({ blocks }) => {
      blocks.withContext("facts", { provider: sqliteSearch });
      await blocks.setContextEntry("facts", { key: "ja", content: "来週の金曜日にサーバーを移行します。" });
      await blocks.setContextEntry("facts", { key: "ko", content: "서버는 금요일에 옮깁니다." });
      await blocks.setContextEntry("facts", { key: "th", content: "ย้ายเซิร์ฟเวอร์วันศุกร์" });
      for (const [query, key] of [
        ["金曜", "ja"],
        ["サーバー", "ja"],
        ["サーバー 金曜", "ja"],
        ["서버", "ko"],
        ["วันศุกร์", "th"],
      ] as const) {
        expect(await blocks.searchContext("facts", query), query).toMatch(new RegExp(`^\\[${key}\\]`));
      }
      expect(await blocks.searchContext("facts", "曜金")).toBeNull();
    });
  });

  test("survive any query: nothing in it is an operator, and nothing is found for no words", async () => {
    await withContexts(async ({ blocks }) => {
      blocks.withContext("facts", { provider: sqliteSearch });
      await blocks.setContextEntry("facts", { key: "k", content: "this AND that, near shelf words OR x*" });
      const odd = [
        '"',
        '""',
        "*",
        "a AND",
        "NEAR(",
        "(",
        "words :",
        "shelf : x",
        "-this",
        "^this",
        "x\u0000y",
        "'; --",
        "",
      ];
      for (const query of odd) await blocks.searchContext("facts", query);
      await expect(blocks.searchContext("facts", "\ud800")).rejects.toThrow("[invalid_input]");
      expect(await blocks.searchContext("facts", "this AND that")).toContain("[k]");
      expect(await blocks.searchContext("facts", "words : zzz")).toBeNull();
      expect(await blocks.searchContext("facts", '" "')).toBeNull();
    });
  });

  test("are replaced by their exact key: the old text is found no more, and a like key is another entry", async () => {
    await withContexts(async ({ blocks, storage, forget }) => {
      blocks.withContext("facts", { provider: sqliteSearch });
      await blocks.setContextEntry("facts", { key: "C", content: "old" });
      await blocks.setContextEntry("facts", { key: "C++", content: "other" });
      await blocks.setContextEntry("facts", { key: "C", content: "new" });
      expect(await blocks.searchContext("facts", "old")).toBeNull();
      expect(await blocks.searchContext("facts", "new")).toBe("[C]\nnew");
      expect(dump(storage)).toMatchObject({ block_entries: 2, block_index: 2 });
      forget("");
      expect(dump(storage)).toEqual(NOTHING);
    });
  });

  test("cost the same to replace and to find however many there are, in this block and in others", async () => {
    await withContexts(async ({ contexts, cost }) => {
      const costs: unknown[] = [];
      const a = contexts.session("a").withContext("facts", { provider: sqliteSearch });
      const b = contexts.session("b").withContext("facts", { provider: sqliteSearch });
      for (const size of [1, 500]) {
        for (let n = 0; n < size; n++) {
          await b.setContextEntry("facts", { key: `k${n}`, content: `needle number ${n}` });
          await a.setContextEntry("facts", { key: `k${n}`, content: `straw number ${n}` });
        }
        await a.setContextEntry("facts", { key: "one", content: `needle of ${size}` });
        costs.push(
          await cost(() => a.setContextEntry("facts", { key: "one", content: `a needle of ${size}` })),
          await cost(() => a.setContextEntry("facts", { key: "one", content: `a needle of ${size}` })),
          await cost(() => a.searchContext("facts", "needle")),
        );
      }
      expect(costs.slice(3)).toEqual(costs.slice(0, 3));
      expect(costs[1]).toMatchObject({ rowsWritten: 0 });
      expect((costs[2] as { rowsRead: number }).rowsRead).toBeLessThanOrEqual(4);
    });
  });

  test("that are long come back whole, the best first, until the answer is long enough", async () => {
    await withContexts(async ({ blocks }) => {
      blocks.withContext("facts", { provider: sqliteSearch });
      for (let n = 0; n < 4; n++) {
        await blocks.setContextEntry("facts", { key: `k${n}`, content: `needle ${"hay ".repeat(4_500)}` });
      }
      const found = await blocks.searchContext("facts", "needle");
      expect(found?.match(/needle/g)?.length).toBe(2);
      expect(found).toContain("(2 more did not fit.");
    });
  });
});
