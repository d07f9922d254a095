/**
 * A provider that binds each thought to all that stood before it, and refuses a request in which that changed. No turn's request is refused, and
 * no thought is left out before which nothing changed.
 */
import { generateText, isStepCount, tool, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { keepTurn, type TurnOptions } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { settle } from "../agent/runs.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import type { FullSession } from "../rooms.ts";
import { rowsOf } from "../rows.ts";
import { summaryOf } from "../scripted-model.ts";
import { signing } from "./signing-provider.ts";

skipRetryDelays();

const counted = { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 };
const answered = {
  finishReason: { unified: "stop", raw: undefined } as const,
  usage: { inputTokens: counted, outputTokens: { total: 5, text: 5, reasoning: 0 } },
  warnings: [],
};

const look = (onLook: (n: number) => Promise<unknown> = async () => undefined): ToolSet => ({
  look: tool({
    inputSchema: z.object({ n: z.number() }),
    execute: async ({ n }) => {
      await onLook(n);
      return { entry: n, text: "The ledger keeps its promise. ".repeat(12) };
    },
  }),
});

async function turn(
  session: FullSession,
  n: number,
  { model, tools, ...options }: { model: MockLanguageModelV4; tools: ToolSet } & Partial<TurnOptions>,
) {
  await session.appendMessage({
    id: `q${n}`,
    role: "user",
    parts: [{ type: "text", text: `Question ${n}. Look around.` }],
  });
  await session.appendMessage({ id: `reply${n}`, role: "assistant", parts: [] });
  const kept = keepTurn(session, { replyId: `reply${n}`, tools, ...options });
  const instructions = "You keep a ledger.";
  await generateText({ model, tools, instructions, stopWhen: isStepCount(20), ...(await kept.prepareStep()), ...kept });
  kept.mustBeKept();
}

describe("no request is refused", () => {
  test("and every thought is sent, where nothing changes", async () => {
    await inside(newAgent(), async (manager) => {
      const session = manager.getSession("calm!100000");
      const { model, told } = signing(3);
      for (let n = 0; n < 4; n++) await turn(session, n, { model, tools: look() });
      // Each of 16 steps is sent all thoughts before it.
      expect(told).toEqual({ needless: 0, made: 16, refused: 0, sent: (16 * 15) / 2 });
    });
  });

  test("after summaries, in the middle of turns too, and a thought that was made after the last one is sent", async () => {
    const agent = newAgent((prompt) => summaryOf(prompt, "done"));
    const { model, told } = signing(4);
    await inside(agent, async (manager) => {
      const session = manager.getSession("x!1500");
      for (let n = 0; n < 6; n++) {
        const middle = async (at: number): Promise<void> => {
          if (n % 2 === 1 && at === 2) await session.addCompaction(`Until ${n}.`, "q0", `reply${n - 1}`);
        };
        await turn(session, n, { model, tools: look(middle) });
      }
    });
    await settle(agent.agent, "x!1500");
    expect(told.refused).toBe(0);
    expect(told.sent).toBeGreaterThan(20);
  });

  test("in views that had to be made to fit", async () => {
    await inside(newAgent(), async (manager) => {
      const session = manager.getSession("tight!100000");
      const { model, told } = signing(6);
      for (let n = 0; n < 4; n++) await turn(session, n, { model, tools: look(), maxTokens: 1_200 });
      expect(told.refused).toBe(0);
      expect(told.sent).toBeGreaterThan(0);
    });
  });

  test("with a reminder, which stays where it was told first, and all thoughts of the turn are sent", async () => {
    await inside(newAgent(), async (manager) => {
      const session = manager.getSession("told!100000").withContext("memory", { whenChanged: "remind" });
      await session.freezeSystemPrompt();
      const { model, told } = signing(4);
      const tools = look(async (n) => session.replaceContextBlock("memory", `Note ${n > 1 ? 2 : 1}.`));
      await turn(session, 0, { model, tools });
      expect(told).toEqual({ needless: 0, made: 5, refused: 0, sent: (5 * 4) / 2 });
    });
  });

  test("after an eviction, by the notes that are stored, which go with the session", async () => {
    const agent = newAgent();
    const { model, told } = signing(2);
    await inside(agent, async (manager) => turn(manager.getSession("x!100000"), 0, { model, tools: look() }));
    await evictDurableObject(agent.stub);
    await inside(agent, async (manager, _agent, storage) => {
      const session = manager.getSession("x!100000");
      await turn(session, 1, { model, tools: look() });
      expect(told).toEqual({ needless: 0, made: 6, refused: 0, sent: (6 * 5) / 2 });
      await session.updateMessage({ id: "q0", role: "user", parts: [{ type: "text", text: "Edited." }] });
      await turn(session, 2, { model, tools: look() });
      expect(told.refused).toBe(0);
      expect(rowsOf(storage, "palimpsest_thoughts")).toHaveLength(9);
      await session.clearMessages();
      expect(rowsOf(storage, "palimpsest_thoughts")).toEqual([]);
    });
  });
});

describe("a thought that another vendor's model signed in Anthropic's form", () => {
  /** The signatures that the provider is sent, after a turn of each model. */
  const sentTo = async (agent: ReturnType<typeof newAgent>, models: readonly string[]): Promise<string[]> => {
    let sent: string[] = [];
    await inside(agent, async (manager) => {
      for (const modelId of models) {
        const n = asked++;
        const model = new MockLanguageModelV4({
          provider: "anthropic.messages",
          modelId,
          doGenerate: async ({ prompt }) => {
            sent = [...JSON.stringify(prompt).matchAll(/"signature":"([^"]*)"/g)].map(([, by = ""]) => by);
            const signed = { anthropic: { signature: `${modelId} ${n}` } };
            return {
              content: [
                { type: "reasoning", text: "I look.", providerMetadata: signed },
                { type: "text", text: `Done ${n}.` },
              ],
              ...answered,
            };
          },
        });
        await turn(manager.getSession("x!100000"), n, { model, tools: look() });
      }
    });
    return sent;
  };
  let asked = 0;

  test("is not sent to Claude, also after an eviction, and stays for its maker. Claude's own stay for each", async () => {
    const agent = newAgent();
    expect(await sentTo(agent, ["glm-5.2", "claude-opus-5", "claude-sonnet-5"])).toEqual(["claude-opus-5 1"]);
    await evictDurableObject(agent.stub);
    expect(await sentTo(agent, ["claude-opus-5"])).toEqual(["claude-opus-5 1", "claude-sonnet-5 2"]);
    expect(await sentTo(agent, ["glm-5.2"])).toEqual([
      "glm-5.2 0",
      "claude-opus-5 1",
      "claude-sonnet-5 2",
      "claude-opus-5 3",
    ]);
  });
});

const item = (itemId: string) => ({ providerMetadata: { openai: { itemId } } });

const search = {
  type: "tool-web_search",
  state: "output-available",
  providerExecuted: true,
  input: {},
  output: { action: { type: "search", query: "oats" } },
} as const;

test("a step whose items OpenAI deletes after 30 days is sent whole from then on, without its thought", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  try {
    await inside(newAgent(), async (manager) => {
      const session = manager.getSession("old!100000");
      await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "Look." }] });
      const reply = [
        { type: "reasoning" as const, text: "", ...item("rs_1") },
        { ...search, toolCallId: "ws_0739e6fd5510ad7d006a7ac6eb0ba881" },
        { type: "text" as const, text: "Done.", ...item("msg_1") },
      ];
      await session.appendMessage({ id: "r", role: "assistant", parts: reply });
      const shown = async () => (await session.getView()).messages[1]?.parts;
      expect(await shown()).toEqual(reply);
      vi.setSystemTime(Date.now() + 31 * 24 * 60 * 60_000);
      // Under another id, a search that OpenAI ran is told in words.
      const told = { ...search, toolCallId: "told-ws_0739e6fd5510ad7d006a7ac6eb0ba881", callProviderMetadata: {} };
      const whole = { type: "text", text: "Done.", providerMetadata: { openai: {} } };
      expect(await shown()).toEqual([told, whole]);
      expect((await session.getMessage("r"))?.parts).toEqual(reply);
    });
  } finally {
    vi.useRealTimers();
  }
});
