/** The AIChatAgent example as its page uses it, bundled for production and reached over a WebSocket. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import type { CompactionClient } from "palimpsest";
import type { CLIENTS } from "../../examples/ai-chat/worker.ts";
import { Person } from "./chat/person.ts";
import { configOf } from "./config.ts";

const server = createTestHarness({ workers: [{ configPath: configOf("ai-chat") }] });
beforeAll(async () => void (await server.listen()));
afterAll(() => server.close());

test("the chat is compacted, its transcript stays whole, and what the page offers is there", async () => {
  const { url } = await server.listen();
  const ada = new Person(url.host, "ada");
  const calls = ada.agent.stub as unknown as CompactionClient<typeof CLIENTS>;

  const turns = 16;
  for (let n = 0; n < turns; n++) await ada.say(`track ${n}. ${"It matters to the ledger. ".repeat(12)}`);
  const ended = async (): Promise<boolean> => (await calls.liveRuns()).length === 0;
  while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 20));

  const messages = await ada.load();
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
  expect(await ada.load()).toEqual(messages);
  ada.leave();
});
