/** The model's tools. Every call gets an answer, whatever fails. */
import { generateText, isStepCount, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sqliteSearch } from "../../../src/context/sqlite.ts";
import { WritableR2SkillProvider } from "../../../src/context/r2-skills.ts";
import type { PalimpsestError } from "../../../src/errors.ts";
import { callTool, dump, fails, NOTHING, reads, withContexts, writes } from "./probe.ts";

const load = async (key: string) => (key === "pdf" ? "PDF TEXT" : null);

const hung = () => new Promise<never>(() => undefined);
const down = () => Promise.reject(new Error("R2: internal error (10001)"));

function call(input: object) {
  return { type: "tool-call", toolCallId: "c", toolName: "set_context", input: JSON.stringify(input) } as const;
}

function fieldsOf(tools: ToolSet, name: string): Record<string, unknown> {
  const schema = z.toJSONSchema(tools[name]?.inputSchema as z.ZodType, { io: "input" });
  return (schema as { properties: Record<string, unknown> }).properties;
}

describe("tools", () => {
  test("are offered for what the blocks can do, with the fields that these need", async () => {
    await withContexts(async ({ blocks }) => {
      blocks.withContext("soul", { provider: reads(() => "x") });
      expect(blocks.tools()).toEqual({});
      blocks.withContext("memory", { description: "Facts\nabout the user", maxTokens: 100 });
      expect(Object.keys(blocks.tools())).toEqual(["set_context"]);
      expect(blocks.tools()["set_context"]?.description).toContain(
        '- "memory" (one text, at most 100 tokens): Facts about the user',
      );
      expect(Object.keys(fieldsOf(blocks.tools(), "set_context"))).toEqual(["label", "content", "action"]);
      blocks
        .withContext("facts", { provider: sqliteSearch })
        .withContext("skills", { provider: { get: load as never, load } });
      const tools = blocks.tools();
      expect(Object.keys(tools)).toEqual(["set_context", "load_context", "unload_context", "search_context"]);
      expect(fieldsOf(tools, "set_context")).toMatchObject({
        label: { enum: ["memory", "facts"] },
        key: {},
        description: {},
      });
      expect(fieldsOf(tools, "load_context")).toMatchObject({ label: { enum: ["skills"] } });
      expect(fieldsOf(tools, "search_context")).toMatchObject({ label: { enum: ["facts"] } });
    });
  });

  test("replace and append a text and say how full the block is", async () => {
    await withContexts(
      async ({ blocks }) => {
        const tools = blocks.withContext("memory", { maxTokens: 20 }).tools();
        const set = (input: object) => callTool(tools, "set_context", { label: "memory", ...input });
        expect(await set({ content: "123456789" })).toMatch(
          /^Written to "memory", which is now at 45% — 9\/20 tokens\./,
        );
        expect(await set({ content: "0", action: "append" })).toContain("55% — 11/20 tokens");
        expect(await set({ content: "x".repeat(10), action: "append" })).toBe(
          'Not done. Block "memory" would be at 110% — 22/20 tokens. It holds 55% — 11/20 tokens. Nothing was written. Add less, or replace the whole text with a shorter one that keeps what still matters.',
        );
        expect(await set({ content: "new", action: "replace", key: "" })).toContain("15% — 3/20");
        expect((await blocks.getContextBlock("memory"))?.content).toBe("new");
      },
      { counterOf: () => (text) => text.length },
    );
  });

  test("store, find, load and unload entries", async () => {
    await withContexts(async ({ blocks }) => {
      const put: unknown[] = [];
      const set = async (...args: unknown[]) => void put.push(args);
      const tools = blocks
        .withContext("facts", { provider: sqliteSearch, maxTokens: 50 })
        .withContext("skills", { provider: { get: async () => "- pdf", load, set } })
        .tools();
      const stored = await callTool(tools, "set_context", { label: "facts", key: "tea", content: "Likes green tea" });
      expect(stored).toBe('Written to "tea" in "facts".');
      await callTool(tools, "set_context", { label: "skills", key: "sql", content: "Joins", description: "Queries" });
      expect(put).toEqual([["sql", "Joins", "Queries"]]);
      expect(await callTool(tools, "search_context", { label: "facts", query: "green" })).toBe(
        "[tea]\nLikes green tea",
      );
      expect(await callTool(tools, "search_context", { label: "facts", query: "coffee" })).toContain("Nothing in");
      expect(await callTool(tools, "load_context", { label: "skills", key: "pdf" })).toBe("PDF TEXT");
      expect(await blocks.getLoadedSkillKeys()).toEqual(new Set(["skills:pdf"]));
      expect(await callTool(tools, "unload_context", { label: "skills", key: "pdf" })).toBe('Unloaded "pdf".');
      expect(await callTool(tools, "unload_context", { label: "skills", key: "pdf" })).toContain("was not loaded");
      const long = await callTool(tools, "set_context", { label: "facts", key: "tea", content: "tea ".repeat(100) });
      expect(long).toContain('An entry of block "facts" would be at 2');
      expect(await callTool(tools, "search_context", { label: "facts", query: "green" })).toContain("Likes green tea");
    });
  });

  test("answer what cannot be done, tell the caller the same as a typed error, and write nothing", async () => {
    const errors: PalimpsestError[] = [];
    await withContexts(
      async ({ contexts, storage }) => {
        const store = writes("kept");
        const bucket = { list: down, get: down, head: down, put: down } as unknown as R2Bucket;
        const blocks = contexts
          .session("s")
          .onToolError((error) => {
            errors.push(error);
            throw new Error("a handler of no use");
          })
          .withContext("memory", { provider: store })
          .withContext("facts", { provider: sqliteSearch })
          .withContext("broken", { provider: { get: fails, set: fails, search: fails, load: fails } })
          .withContext("odd", { provider: { get: async () => 7 as never, set: fails } })
          .withContext("odd-keyed", {
            provider: { get: fails, load: async () => ({}) as never, search: async () => undefined as never },
          })
          .withContext("hung", { provider: { get: hung, set: hung, search: hung, load: hung } })
          .withContext("skills", { provider: { get: load as never, load } })
          .withContext("bucket", { provider: new WritableR2SkillProvider(bucket) })
          .withContext("small", { maxTokens: 2 })
          .withContext("soul")
          .withContext("gone");
        const tools = blocks.tools();
        blocks.removeContext("gone");
        blocks.withContext("soul", { provider: reads(() => "x") });
        const calls: [tool: string, input: Record<string, unknown>, code: string][] = [
          ["set_context", { label: "memory", key: "k", content: "x" }, "invalid_input"],
          ["set_context", { label: "facts", content: "x" }, "invalid_input"],
          ["set_context", { label: "facts", key: "k", content: "x", action: "append" }, "invalid_input"],
          ["set_context", { label: "gone", content: "x" }, "unknown_block"],
          ["set_context", { label: "broken", key: "k", content: "x" }, "provider_failed"],
          ["set_context", { label: "hung", key: "k", content: "x" }, "provider_failed"],
          ["set_context", { label: "soul", content: "x" }, "readonly_block"],
          ["set_context", { label: "small", content: "far too many words for it" }, "block_full"],
          ["set_context", { label: "small", content: "far too many words", action: "append" }, "block_full"],
          ["set_context", { label: "odd", content: "x", action: "append" }, "provider_failed"],
          ["set_context", { label: "bucket", key: "k", content: "x" }, "provider_failed"],
          ["search_context", { label: "broken", query: "x" }, "provider_failed"],
          ["search_context", { label: "hung", query: "x" }, "provider_failed"],
          ["search_context", { label: "odd-keyed", query: "x" }, "provider_failed"],
          ["load_context", { label: "broken", key: "x" }, "provider_failed"],
          ["load_context", { label: "hung", key: "x" }, "provider_failed"],
          ["load_context", { label: "odd-keyed", key: "x" }, "provider_failed"],
          ["load_context", { label: "bucket", key: "pdf" }, "provider_failed"],
          ["load_context", { label: "skills", key: "nobody" }, "unknown_skill"],
        ];
        for (const [name, input, code] of calls) {
          const answer = await callTool(tools, name, input);
          // What happened, and after it what to do.
          expect(answer, JSON.stringify(input)).toMatch(/^Not done\. .+[.:,] \S.+/);
          expect(answer).not.toContain(`[${code}]`);
          expect(errors.at(-1)?.code).toBe(code);
          expect(errors.at(-1)?.message).toBe(`[${code}] ${answer.slice("Not done. ".length)}`);
        }
        expect(store.written).toEqual([]);
        expect(dump(storage)).toEqual(NOTHING);
      },
      { limitMs: 0 },
    );
  });

  test("work in the AI SDK's loop: bad input goes back to the model, which tries again", async () => {
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const wrong = [
      { label: "nobody", content: "x" },
      { label: "soul", content: "x" },
      { label: "memory" },
      { label: "memory", content: 7 },
      { label: "memory", content: "x", action: "delete" },
      ["memory", "x"],
    ];
    const turns = [...wrong, { label: "memory", content: "likes tea" }].map(call);
    await withContexts(async ({ blocks, storage }) => {
      const model = new MockLanguageModelV4({
        doGenerate: async () => {
          const next = turns.shift();
          const content = next === undefined ? [{ type: "text" as const, text: "done" }] : [next];
          const finishReason = { unified: next === undefined ? ("stop" as const) : ("tool-calls" as const), raw: "" };
          return { content, finishReason, usage, warnings: [] };
        },
      });
      const tools = blocks
        .withContext("memory")
        .withContext("soul", { provider: reads(() => "x") })
        .tools();
      const stored: unknown[] = [];
      const result = await generateText({
        model,
        tools,
        prompt: "Remember it",
        stopWhen: isStepCount(9),
        onStepEnd: () => void stored.push(dump(storage)["blocks"]),
      });
      expect(result.text).toBe("done");
      expect(stored).toEqual([...wrong.map(() => 0), 1, 1]);
      for (const n of wrong.keys()) {
        const told = JSON.stringify(model.doGenerateCalls[n + 1]?.prompt.at(-1));
        expect(told).toMatch(/error-text.*(?:Invalid|validation)/);
      }
      expect((await blocks.getContextBlock("memory"))?.content).toBe("likes tea");
    });
  });
});
