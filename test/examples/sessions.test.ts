/** The example on `agents/sessions`, bundled for production. */
import { afterAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { configOf } from "./config.ts";

const server = createTestHarness({ workers: [{ configPath: configOf("sessions") }] });
afterAll(() => server.close());

interface Chat {
  say(text: string): Promise<{ sent: number; summaries: number }>;
  waitForRun(input: { runId: string }): Promise<{ outcome: { kind: string } }>;
  runs(input: object): Promise<{ id: string }[]>;
}

test("the SDK's session shows a summary in the place of its oldest messages", async () => {
  await server.listen();
  const env = (await server.getWorker().getEnv()) as { Chat: DurableObjectNamespace };
  const chat = env.Chat.get(env.Chat.idFromName("reader")) as unknown as Chat;
  const text = "We agreed to keep the ledger in one table, and to name a run after its session. ".repeat(60);
  let said = 0;
  const say = (): Promise<{ sent: number; summaries: number }> => chat.say(`${said++}: ${text}`);
  let runs: { id: string }[] = [];
  while (runs.length === 0) {
    await say();
    runs = await chat.runs({});
  }
  const { outcome } = await chat.waitForRun({ runId: runs[0]?.id ?? "" });
  expect(outcome.kind).toBe("applied");
  let seen = await say();
  while (seen.summaries === 0) seen = await say();
  expect(seen.sent).toBeLessThan(said);
});
