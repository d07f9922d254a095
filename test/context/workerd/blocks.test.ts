/** Blocks of one session, their contents, their changes, and the prompt that is made of them. */
import { describe, expect, test } from "vitest";
import { codeOf, dump, fails, NOTHING, reads, withContexts, writes } from "./probe.ts";

const get = async () => "text";
const set = async () => undefined;
const found = async () => null;
const countCharacters = (text: string) => text.length;

describe("a block", () => {
  test("is what its provider can do", async () => {
    await withContexts(async ({ blocks }) => {
      blocks
        .withContext("soul", { provider: { get } })
        .withContext("notes", { provider: { get, set } })
        .withContext("facts", { provider: { get, search: found } })
        .withContext("library", { provider: { get, search: found, set } })
        .withContext("skills", { provider: { get, load: found } })
        .withContext("memory");
      const kinds = (await blocks.getContextBlocks()).map(({ label, kind, writable }) => [label, kind, writable]);
      expect(kinds).toEqual([
        ["soul", "readonly", false],
        ["notes", "writable", true],
        ["facts", "searchable", false],
        ["library", "searchable", true],
        ["skills", "loadable", false],
        ["memory", "writable", true],
      ]);
    });
  });

  test("without a provider is kept in SQLite, byte for byte, across an eviction", async () => {
    const text = "line\r\n\ttab \u0000 nul, 東京, 👩‍👩‍👧, '; DROP TABLE palimpsest_blocks;--";
    await withContexts(async ({ blocks, reopen }) => {
      expect((await blocks.withContext("memory").getContextBlock("memory"))?.content).toBe("");
      await blocks.replaceContextBlock("memory", text);
      const again = reopen().session("").withContext("memory");
      expect((await again.getContextBlock("memory"))?.content).toBe(text);
      expect((await again.replaceContextBlock("memory", "")).content).toBe("");
      expect((await blocks.getContextBlock("memory"))?.content).toBe("");
    });
  });

  test("has its default text until something is written, which may be nothing", async () => {
    await withContexts(async ({ blocks, cost }) => {
      blocks.withContext("memory", { defaultContent: "The user's name is not known." });
      expect((await blocks.getContextBlock("memory"))?.content).toBe("The user's name is not known.");
      expect((await cost(() => blocks.freezeSystemPrompt())).rowsWritten).toBe(0);
      expect((await blocks.appendContextBlock("memory", "Likes tea.")).content).toBe(
        "The user's name is not known.\nLikes tea.",
      );
      await blocks.replaceContextBlock("memory", "");
      expect((await blocks.getContextBlock("memory"))?.content).toBe("");
    });
  });

  test("that is declared readonly is written by nobody, whatever its provider can do", async () => {
    await withContexts(async ({ blocks }) => {
      const provider = writes("as it was");
      blocks
        .withContext("rules", { readonly: true, defaultContent: "Be kind." })
        .withContext("taken", { readonly: true, provider });
      for (const label of ["rules", "taken"]) {
        const { kind, writable } = (await blocks.getContextBlock(label)) ?? {};
        expect([kind, writable]).toEqual(["readonly", false]);
        expect(await codeOf(() => blocks.replaceContextBlock(label, "x"))).toBe("readonly_block");
      }
      expect(await blocks.freezeSystemPrompt()).toContain("Be kind.");
      expect(provider.written).toEqual([]);
      expect(Object.keys(blocks.tools())).not.toContain("set_context");
    });
  });

  test.for([
    { defaultContent: 7 },
    { defaultContent: "\ud800" },
    { readonly: "yes" },
    { provider: { get, search: found }, defaultContent: "x" },
  ])("refuses %j", async (options) => {
    await withContexts(async ({ blocks }) => {
      expect(await codeOf(async () => blocks.withContext("memory", options as object))).toBe("invalid_options");
    });
  });

  test("writes 1 row when it changes and none when it does not, and reads 1", async () => {
    await withContexts(async ({ blocks, cost }) => {
      blocks.withContext("memory");
      expect((await cost(() => blocks.replaceContextBlock("memory", "a"))).rowsWritten).toBe(1);
      expect((await cost(() => blocks.replaceContextBlock("memory", "b"))).rowsWritten).toBe(1);
      expect((await cost(() => blocks.replaceContextBlock("memory", "b"))).rowsWritten).toBe(0);
      expect(await cost(() => blocks.getContextBlock("memory"))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    });
  });

  test("grows by a line an append; appends at the same time all land", async () => {
    await withContexts(async ({ blocks, contexts }) => {
      blocks.withContext("memory");
      await Promise.all(["a", "b", "\nc", "d"].map((text) => blocks.appendContextBlock("memory", text)));
      expect((await blocks.getContextBlock("memory"))?.content).toBe("a\nb\nc\nd");

      const provider = writes();
      const two = ["x", "y"].map((id) => contexts.session(id).withContext("board", { shared: true, provider }));
      await Promise.all(two.map((each, n) => each.appendContextBlock("board", `from ${n}`)));
      expect(await provider.get()).toBe("from 0\nfrom 1");
    });
  });

  test("refuses what does not fit, what it cannot do and what is not there; then nothing was written", async () => {
    await withContexts(
      async ({ blocks, storage }) => {
        const store = writes("12345");
        blocks
          .withContext("memory", { provider: store, maxTokens: 10 })
          .withContext("soul", { provider: reads(() => "x") })
          .withContext("big")
          .withContext("facts", { provider: { get, search: found, set: fails } });
        await expect(blocks.appendContextBlock("memory", "67890")).rejects.toThrow(
          'Block "memory" would be at 110% — 11/10 tokens. It holds 50% — 5/10 tokens. Nothing was written. Add less, or',
        );
        const codes = [
          blocks.replaceContextBlock("memory", "12345678901"),
          blocks.replaceContextBlock("soul", "y"),
          blocks.replaceContextBlock("nobody", "y"),
          blocks.replaceContextBlock("facts", "y"),
          blocks.setContextEntry("memory", { key: "k", content: "y" }),
          blocks.setContextEntry("facts", { key: "two\nlines", content: "y" }),
          blocks.replaceContextBlock("big", "x".repeat(1_000_001)),
          blocks.searchContext("memory", "x"),
          blocks.loadSkill("memory", "x"),
          blocks.replaceContextBlock("memory", 7 as never),
          blocks.appendContextBlock("memory", undefined as never),
          blocks.setContextEntry("facts", { key: "k", content: {} as never }),
          blocks.searchContext("facts", null as never),
          blocks.replaceContextBlock("memory", "half \ud83d"),
          blocks.appendContextBlock("memory", "\ude00"),
        ].map((work) => codeOf(work));
        expect(await Promise.all(codes)).toEqual([
          "block_full",
          "readonly_block",
          "unknown_block",
          "invalid_input",
          "invalid_input",
          "invalid_input",
          "block_full",
          ...Array.from({ length: 8 }, () => "invalid_input"),
        ]);
        expect(store.written).toEqual([]);
        expect(dump(storage)).toEqual(NOTHING);
      },
      { counterOf: () => countCharacters },
    );
  });

  test("is declared with a name and numbers that make sense, or not at all", async () => {
    await withContexts(async ({ blocks }) => {
      for (const label of ["", " a", "a\nb", "a@b", "a:b", "x".repeat(65)]) {
        expect(await codeOf(() => blocks.withContext(label))).toBe("invalid_options");
      }
      for (const maxTokens of [0, -1, 1.5, Number.NaN]) {
        expect(await codeOf(() => blocks.withContext("memory", { maxTokens }))).toBe("invalid_options");
      }
      expect(await codeOf(() => blocks.withContext("memory", { provider: {} as never }))).toBe("invalid_options");
      expect(await blocks.getContextBlocks()).toEqual([]);
    });
  });

  test("can be added and removed while the session is in use; one that cannot be read is not added", async () => {
    await withContexts(async ({ blocks }) => {
      blocks.withContext("soul", { provider: reads(() => "x") });
      const frozen = await blocks.freezeSystemPrompt();
      expect(await blocks.addContext("extra", { provider: reads(() => "more") })).toMatchObject({ content: "more" });
      expect(await codeOf(blocks.addContext("extra"))).toBe("block_exists");
      expect(await codeOf(blocks.addContext("broken", { provider: reads(fails) }))).toBe("provider_failed");
      expect((await blocks.getContextBlocks()).map(({ label }) => label)).toEqual(["soul", "extra"]);
      expect(await blocks.freezeSystemPrompt()).toBe(frozen);
      expect(await blocks.refreshSystemPrompt()).toContain("EXTRA [readonly]");
      expect(blocks.removeContext("extra")).toBe(true);
      expect(blocks.removeContext("extra")).toBe(false);
      expect(await blocks.getContextBlock("extra")).toBeNull();
    });
  });
});

describe("the frozen prompt", () => {
  test("is the same string until it is refreshed, whatever is written meanwhile", async () => {
    await withContexts(async ({ blocks }) => {
      let n = 0;
      blocks.withContext("clock", { provider: reads(() => `${n++}`) }).withContext("memory");
      const [one, two] = await Promise.all([blocks.freezeSystemPrompt(), blocks.freezeSystemPrompt()]);
      await blocks.replaceContextBlock("memory", "news");
      expect([two, await blocks.freezeSystemPrompt()]).toEqual([one, one]);
      const refreshed = await blocks.refreshSystemPrompt();
      expect(refreshed).toContain("news");
      expect(await blocks.freezeSystemPrompt()).toBe(refreshed);
    });
  });

  test("outlives an eviction when it is cached, at 1 row to read, and is rendered anew when not", async () => {
    await withContexts(async ({ blocks, reopen, cost }) => {
      let text = "before";
      const declare = (each: typeof blocks) => each.withContext("soul", { provider: reads(() => text) });
      const frozen = await declare(blocks).withCachedPrompt().freezeSystemPrompt();
      text = "after";
      expect(await declare(reopen().session("")).withCachedPrompt().freezeSystemPrompt()).toBe(frozen);
      expect(await cost(() => blocks.freezeSystemPrompt())).toEqual({ rowsRead: 1, rowsWritten: 0 });
      expect(await declare(reopen().session("")).freezeSystemPrompt()).toContain("after");
    });
  });

  test("may be empty, which is not the same as none", async () => {
    await withContexts(async ({ blocks, reopen }) => {
      let text = "";
      const declare = (each: typeof blocks) =>
        each.withContext("soul", { provider: reads(() => text) }).withCachedPrompt();
      expect(await declare(blocks).freezeSystemPrompt()).toBe("");
      text = "later";
      expect(await declare(reopen().session("")).freezeSystemPrompt()).toBe("");
    });
  });

  test("can be kept by a provider of the caller's", async () => {
    await withContexts(async ({ blocks, contexts, reopen }) => {
      const store = writes();
      const frozen = await blocks.withContext("memory").withCachedPrompt(store).freezeSystemPrompt();
      expect(store.written).toEqual([frozen]);
      expect(await reopen().session("").withCachedPrompt(store).freezeSystemPrompt()).toBe(frozen);
      expect(await codeOf(() => contexts.session("other").withCachedPrompt(store))).toBe("invalid_options");
    });
  });

  test("says which blocks could not be read, is not frozen then, and is reported; a refresh leaves the old one", async () => {
    await withContexts(async ({ blocks, storage }) => {
      let isDown = true;
      const reported: string[] = [];
      blocks
        .withContext("soul", { provider: reads(() => (isDown ? fails() : "up")) })
        .withContext("rules", { provider: reads(() => "be kind") })
        .onToolError((error) => {
          reported.push(error.code);
          throw new Error("the handler is down as well");
        })
        .withCachedPrompt();
      const partial = await blocks.freezeSystemPrompt();
      expect(partial).toMatch(/SOUL \[readonly\]\n═+\n\(This block could not be read/);
      expect(partial).toContain("be kind");
      expect(reported).toEqual(["provider_failed"]);
      expect(dump(storage)).toEqual(NOTHING);
      isDown = false;
      const frozen = await blocks.freezeSystemPrompt();
      expect(frozen).toMatch(/SOUL \[readonly\]\n═+\nup/);
      isDown = true;
      expect(await codeOf(blocks.refreshSystemPrompt())).toBe("provider_failed");
      expect(await blocks.freezeSystemPrompt()).toBe(frozen);
    });
  });

  test("is made anew while the place where it is kept is down, and kept there again later", async () => {
    await withContexts(async ({ blocks }) => {
      let isDown = true;
      const reported: string[] = [];
      const kept = writes();
      const store = {
        get: async () => (isDown ? fails() : kept.get()),
        set: async (prompt: string) => (isDown ? fails() : kept.set(prompt)),
      };
      blocks.withContext("soul", { provider: { get } }).withCachedPrompt(store);
      blocks.onToolError(({ message }) => void reported.push(message));
      const prompt = await blocks.freezeSystemPrompt();
      expect(prompt).toContain("text");
      expect(reported).toEqual([expect.stringContaining("system prompt")]);
      isDown = false;
      expect(await blocks.freezeSystemPrompt()).toBe(prompt);
      expect(kept.written).toEqual([prompt]);
    });
  });

  test("that is too large for a row is refused before it is written", async () => {
    await withContexts(async ({ blocks, storage }) => {
      blocks.withContext("soul", { provider: reads(() => "x".repeat(1_900_000)) }).withCachedPrompt();
      expect(await codeOf(blocks.freezeSystemPrompt())).toBe("block_full");
      expect(dump(storage)).toEqual(NOTHING);
    });
  });
});

describe("a reminder", () => {
  test("restates what changed after the freeze, also after an eviction, until a refresh takes it in", async () => {
    await withContexts(async ({ blocks, reopen }) => {
      let day = "Monday";
      const declare = (each: typeof blocks) =>
        each
          .withContext("today", { provider: reads(() => day), whenChanged: "remind" })
          .withContext("memory")
          .withCachedPrompt();
      expect(await declare(blocks).reminder()).toBeNull();
      const frozen = await blocks.freezeSystemPrompt();
      expect(await blocks.reminder()).toBeNull();
      day = "Tuesday";
      await blocks.replaceContextBlock("memory", "waits");
      const told = await blocks.reminder();
      expect(told).toContain("TODAY [readonly]");
      expect(told).toContain("Tuesday");
      expect(told).not.toContain("waits");
      const again = declare(reopen().session(""));
      expect(await again.reminder()).toBe(told);
      expect(await again.freezeSystemPrompt()).toBe(frozen);
      await again.refreshSystemPrompt();
      expect(await blocks.reminder()).toBeNull();
    });
  });

  test("does without a block that fails or hangs, says so, is reported, and takes no longer than one provider may", async () => {
    await withContexts(
      async ({ blocks }) => {
        let state: "up" | "down" = "up";
        const reported: string[] = [];
        const hangs = () => (state === "up" ? Promise.resolve("one") : new Promise<string>(() => undefined));
        blocks
          .withContext("first", { provider: { get: hangs }, whenChanged: "remind" })
          .withContext("second", { provider: { get: hangs }, whenChanged: "remind" })
          .withContext("third", { provider: reads(() => (state === "up" ? "one" : fails())), whenChanged: "remind" })
          .withContext("memory", { whenChanged: "remind" })
          .onToolError(({ message }) => void reported.push(message));
        await blocks.freezeSystemPrompt();
        await blocks.replaceContextBlock("memory", "likes tea");
        state = "down";
        const told = await blocks.reminder();
        expect(told).toContain("likes tea");
        expect(told).toMatch(/could not be read just now.*: FIRST, SECOND, THIRD\.$/);
        expect(told).not.toContain("FIRST [");
        expect(reported).toHaveLength(3);
        state = "up";
        expect(await blocks.reminder()).not.toContain("FIRST");
      },
      { limitMs: 50 },
    );
  });
});
