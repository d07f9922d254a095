/** The Think example, bundled for production and reached over a WebSocket. */
import { afterAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import type { UIMessage } from "ai";
import type { CompactionClient } from "palimpsest";
import { Person } from "./chat/person.ts";
import { configOf } from "./config.ts";

const server = createTestHarness({ workers: [{ configPath: configOf("think") }] });
afterAll(() => server.close());

test("its model sees a compacted view after some questions with a tool, and the transcript stays whole", async () => {
  const { url } = await server.listen();
  const ada = new Person(url.host, "ada");
  const calls = ada.agent.stub as unknown as CompactionClient;
  let turns = 0;
  while ((await calls.runs()).length === 0)
    await ada.say(`track ${turns++}. ${"It matters to the ledger. ".repeat(20)}`);
  while ((await calls.liveRuns()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await calls.runs())[0]?.outcome).toMatchObject({ kind: "applied" });
  const messages = await ada.load();
  expect(messages.filter(({ role }) => role === "user")).toHaveLength(turns);
  expect(JSON.stringify(messages)).toContain("output-available");
  const before = shownIn(messages.at(-1));
  await ada.say("What was it?");
  expect(shownIn((await ada.load()).at(-1))).toBeLessThan(before);
  ada.leave();
});

/** How many messages the model says that it was shown. */
function shownIn(answer: UIMessage | undefined): number {
  return Number(/shown (\d+) messages/.exec(JSON.stringify(answer))?.[1]);
}
