/** The AIChatAgent example as its page uses it, bundled for production and reached over a WebSocket. */
import { AgentClient } from "agents/client";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import type { CompactionClient } from "palimpsest";
import type { CLIENTS } from "../../examples/ai-chat/worker.ts";
import { configOf } from "./config.ts";

const server = createTestHarness({ workers: [{ configPath: configOf("ai-chat") }] });
beforeAll(async () => void (await server.listen()));
afterAll(() => server.close());

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly done?: boolean;
}

test("the chat is compacted, its transcript stays whole, and what the page offers is there", async () => {
  const { url } = await server.listen();
  const agent = new AgentClient({ agent: "chat", name: "ada", host: url.host });
  const calls = agent.stub as unknown as CompactionClient<typeof CLIENTS>;
  const load = async (): Promise<UIMessage[]> =>
    (await fetch(`http://${url.host}/agents/chat/ada/get-messages`)).json<UIMessage[]>();
  /** Sends the whole conversation with the new message, as `useAgentChat` does, and waits until the answer is done. */
  const say = async (text: string): Promise<void> => {
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    const id = crypto.randomUUID();
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const heard = ({ data }: MessageEvent): void => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.type === "cf_agent_use_chat_response" && frame.id === id && frame.done === true) resolve();
    };
    agent.addEventListener("message", heard);
    const body = JSON.stringify({ messages: [...(await load()), message], trigger: "submit-message" });
    agent.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
    await answered;
    agent.removeEventListener("message", heard);
  };

  const turns = 16;
  for (let n = 0; n < turns; n++) await say(`track ${n}. ${"It matters to the ledger. ".repeat(12)}`);
  const ended = async (): Promise<boolean> => (await calls.liveRuns()).length === 0;
  while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 20));

  const messages = await load();
  expect(messages.filter(({ role }) => role === "user")).toHaveLength(turns);
  expect(JSON.stringify(messages)).toContain("output-available");
  const summary = (await calls.getCompactions()).find(({ state }) => state === "active");
  expect(summary?.spanMessages).toBeGreaterThan(2);
  expect(messages.map(({ id }) => id)).toContain(summary?.span.toId);
  const originals = await calls.expand({ overlayId: summary?.id ?? "" });
  expect(originals.length).toBeGreaterThan(2);
  const before = (await calls.status()).viewTokens;
  await calls.rollback({ overlayId: summary?.id ?? "" });
  expect((await calls.status()).viewTokens).toBeGreaterThan(before);
  expect(await load()).toEqual(messages);
  agent.close();
});
