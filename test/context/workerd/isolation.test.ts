/** S1 and S2. Nothing of one session is visible in another, and nothing remains of a session that was deleted. */
import { AgentContextProvider, AgentSearchProvider } from "agents/context";
import { describe, expect, test } from "vitest";
import type { ContextBlocks } from "../../../src/context/blocks.ts";
import { Db } from "../../../src/memory/db.ts";
import { Contexts } from "../../../src/context/blocks.ts";
import { sqliteSearch } from "../../../src/context/sqlite.ts";
import { codeOf, dump, fails, NOTHING, reads, withContexts, writes } from "./probe.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

type Value = string | number | boolean | null;

/** What the SDK's own providers ask of an agent. */
function agentOver(storage: DurableObjectStorage) {
  return {
    sql: <T>(strings: TemplateStringsArray, ...values: Value[]): T[] =>
      storage.sql.exec(strings.join("?"), ...(values as (string | number | null)[])).toArray() as T[],
  };
}

function declareAll(blocks: ContextBlocks): ContextBlocks {
  return blocks
    .withContext("memory")
    .withContext("facts", { provider: sqliteSearch })
    .withContext("skills", { provider: { get: async () => "- a", load: async (key) => `text of ${key}` } })
    .withCachedPrompt();
}

async function fill(blocks: ContextBlocks, word: string): Promise<void> {
  await blocks.replaceContextBlock("memory", word);
  await blocks.setContextEntry("facts", { key: "k", content: word });
  await blocks.loadSkill("skills", word);
  await blocks.freezeSystemPrompt();
}

describe("S1: sessions of one agent", () => {
  test("share no block, entry, prompt or loaded skill, whatever they are called", async () => {
    await withContexts(async ({ contexts }) => {
      const ids = ["", "a", "shared", "session:a", "a@b"];
      for (const id of ids) await fill(declareAll(contexts.session(id)), `secret of ${id}.`);
      for (const id of ids) {
        const blocks = contexts.session(id);
        expect((await blocks.getContextBlock("memory"))?.content).toBe(`secret of ${id}.`);
        expect(await blocks.searchContext("facts", "secret")).toBe(`[k]\nsecret of ${id}.`);
        expect(await blocks.getLoadedSkillKeys()).toEqual(new Set([`skills:secret of ${id}.`]));
        expect(await blocks.freezeSystemPrompt()).toContain(`secret of ${id}.`);
      }
    });
  });

  test("are kept apart from what is shared, also by a session of that name", async () => {
    await withContexts(async ({ contexts }) => {
      await contexts.session("a").withContext("memory", { shared: true }).replaceContextBlock("memory", "for all");
      expect((await contexts.session("shared").withContext("memory").getContextBlock("memory"))?.content).toBe("");
    });
  });

  test("may not share a writable provider object by accident; they may on purpose, or have one each", async () => {
    await withContexts(async ({ contexts, reopen }) => {
      const [a, b] = [contexts.session("a"), contexts.session("b")];
      const provider = writes();
      a.withContext("memory", { provider });
      expect(await codeOf(() => b.withContext("memory", { provider }))).toBe("invalid_options");
      expect(await codeOf(() => b.withContext("memory", { provider, shared: true }))).toBe("invalid_options");
      expect(await codeOf(() => reopen().session("a").withContext("memory", { provider }))).toBeUndefined();
      const readonly = reads(() => "for all");
      for (const each of [a, b]) each.withContext("soul", { provider: readonly });

      const team = writes();
      for (const each of [a, b])
        each.withContext("team", { provider: team, shared: true }).withContext("wiki", { shared: true });
      await a.replaceContextBlock("team", "from a");
      await a.replaceContextBlock("wiki", "from a");
      expect((await b.getContextBlock("team"))?.content).toBe("from a");
      expect((await b.appendContextBlock("wiki", "from b")).content).toBe("from a\nfrom b");

      const made = new Map<string | null, ReturnType<typeof writes>>();
      for (const each of [a, b]) {
        each.withContext("own", { provider: ({ sessionId }) => made.set(sessionId, writes()).get(sessionId)! });
      }
      await a.replaceContextBlock("own", "of a");
      expect([made.get("a")?.written, made.get("b")?.written]).toEqual([["of a"], []]);
    });
  });

  test("of two agents are kept apart as well: they may share an isolate, and with it what a module holds", async () => {
    await withContexts(async ({ storage }) => {
      const of = (agentId: string) =>
        new Contexts(new Db(storage), { counterOf: () => estimateTokens, agentId }).session("a");
      const provider = writes();
      of("one").withContext("memory", { provider });
      expect(await codeOf(() => of("two").withContext("memory", { provider }))).toBe("invalid_options");
      expect(await codeOf(() => of("two").withCachedPrompt(provider))).toBe("invalid_options");
      expect(await codeOf(() => of("one").withContext("memory", { provider }))).toBeUndefined();
      const team = writes();
      for (const agentId of ["one", "two"]) of(agentId).withContext("team", { provider: team, shared: true });
      of("two").withContext("mine", { provider: (scope) => (expect(scope.agentId).toBe("two"), writes()) });
    });
  });

  test("do not lose a provider to a session that was refused it", async () => {
    await withContexts(async ({ contexts }) => {
      const [a, b] = [contexts.session("a"), contexts.session("b")];
      const down = { ...writes(), get: fails };
      expect(await codeOf(a.addContext("memory", { provider: down }))).toBe("provider_failed");
      expect(await codeOf(() => b.withContext("memory", { provider: down }))).toBeUndefined();
      const unmade = { ...writes(), init: fails };
      expect(await codeOf(() => a.withContext("notes", { provider: unmade }))).toBe("provider_failed");
      expect(await codeOf(() => b.withContext("notes", { provider: unmade }))).toBe("provider_failed");
      // One that stands under another label as well stays whose it was.
      let isDown = false;
      const flaky = { ...writes(), get: async () => (isDown ? fails() : "text") };
      await a.addContext("one", { provider: flaky });
      isDown = true;
      expect(await codeOf(a.addContext("two", { provider: flaky }))).toBe("provider_failed");
      expect(await codeOf(() => b.withContext("one", { provider: flaky }))).toBe("invalid_options");
    });
  });

  test("plug in the SDK's own providers unchanged, and are kept apart by the label that they are given", async () => {
    await withContexts(async ({ contexts, storage }) => {
      const agent = agentOver(storage);
      for (const id of ["", "a", "b"]) {
        const blocks = contexts
          .session(id)
          .withContext("notes", { provider: new AgentContextProvider(agent) })
          .withContext("facts", { provider: new AgentSearchProvider(agent) });
        await blocks.appendContextBlock("notes", `of ${id}.`);
        await blocks.setContextEntry("facts", { key: "k", content: `fact of ${id}.` });
        expect((await blocks.getContextBlock("notes"))?.content).toBe(`of ${id}.`);
        expect(await blocks.searchContext("facts", "fact")).toBe(`[k]\nfact of ${id}.`);
      }
      // The default session finds what the SDK stored under the plain label.
      expect(await new AgentContextProvider(agent, "notes").get()).toBe("of .");
    });
  });
});

describe("S2: a session that is forgotten", () => {
  test("leaves no row, keeps no prompt, and leaves other sessions and what is shared alone", async () => {
    await withContexts(async ({ contexts, storage, forget }) => {
      const [a, b] = [declareAll(contexts.session("a")), declareAll(contexts.session("b"))];
      await fill(a, "of a");
      forget("a");
      expect(dump(storage)).toEqual(NOTHING);
      expect(await a.freezeSystemPrompt()).not.toContain("of a");
      expect(await a.getLoadedSkillKeys()).toEqual(new Set());
      expect(await a.searchContext("facts", "of")).toBeNull();

      await fill(b, "of b");
      b.withContext("wiki", { shared: true });
      await b.replaceContextBlock("wiki", "shared");
      await fill(a, "of a");
      forget("a");
      expect((await b.getContextBlock("memory"))?.content).toBe("of b");
      expect(await b.searchContext("facts", "of b")).toContain("of b");
      forget("b");
      expect(dump(storage)).toEqual({ ...NOTHING, blocks: 1 });
    });
  });

  test("does not read its old prompt again, wherever that was kept", async () => {
    await withContexts(async ({ contexts, forget }) => {
      const inMemory = contexts.session("a");
      const elsewhere = contexts.session("b").withCachedPrompt(writes());
      for (const blocks of [inMemory, elsewhere]) {
        await blocks.withContext("memory").replaceContextBlock("memory", "secret");
        expect(await blocks.freezeSystemPrompt()).toContain("secret");
      }
      for (const id of ["a", "b"]) forget(id);
      for (const blocks of [inMemory, elsewhere]) {
        const frozen = await blocks.freezeSystemPrompt();
        expect(frozen).not.toContain("secret");
        await blocks.replaceContextBlock("memory", "new");
        expect(await blocks.freezeSystemPrompt()).toBe(frozen);
      }
    });
  });

  test("is not written to by what was under way, nor by what waited behind it", async () => {
    await withContexts(async ({ blocks, storage, forget }) => {
      const gate = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      let asked = 0;
      const slow = async () => {
        asked++;
        if (asked === 5) started.resolve();
        await gate.promise;
        return "secret";
      };
      const notes = writes();
      const stored: string[] = [];
      const store = async (key: string) => {
        stored.push(key);
        await slow();
      };
      blocks
        .withContext("skills", { provider: { get: slow, load: slow, set: store } })
        .withContext("notes", { provider: { ...notes, get: slow } })
        .withContext("memory")
        .withCachedPrompt();
      const working = [
        blocks.freezeSystemPrompt(),
        blocks.refreshSystemPrompt(),
        blocks.appendContextBlock("notes", "more"),
        blocks.replaceContextBlock("notes", "other"),
        blocks.loadSkill("skills", "k"),
        blocks.setContextEntry("skills", { key: "was being written", content: "x" }),
        blocks.setContextEntry("skills", { key: "waited", content: "x" }),
      ].map((work) => codeOf(work));
      // Of a freeze, an append, a load and a write, each is now waiting for its provider.
      await started.promise;
      forget("");
      gate.resolve();
      const stopped = "invalid_state";
      expect(await Promise.all(working)).toEqual([stopped, stopped, stopped, stopped, stopped, undefined, stopped]);
      expect([notes.written, stored]).toEqual([[], ["was being written"]]);
      expect(dump(storage)).toEqual(NOTHING);
    });
  });

  test("is forgotten with the transaction that does it, or not at all", async () => {
    await withContexts(async ({ contexts, storage, forget }) => {
      const a = declareAll(contexts.session("a"));
      await fill(a, "of a");
      const before = dump(storage);
      expect(() =>
        storage.transactionSync(() => {
          forget("a");
          throw new Error("rolled back");
        }),
      ).toThrow("rolled back");
      expect(dump(storage)).toEqual(before);
      expect(await a.freezeSystemPrompt()).toContain("of a");
    });
  });
});
