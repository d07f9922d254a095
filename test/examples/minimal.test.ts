/** The README's Worker is examples/minimal, letter by letter, and compacts a conversation as a production bundle. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { configOf } from "./config.ts";

const root = resolve(import.meta.dirname, "../..");
const server = createTestHarness({ workers: [{ configPath: configOf("minimal") }] });
afterAll(() => server.close());

interface Chat {
  say(text: string): Promise<number>;
  waitForRun(input: { runId: string }): Promise<{ outcome: { kind: string } }>;
  runs(input: object): Promise<{ id: string }[]>;
}

test("the README shows the example that is tested here, letter by letter", () => {
  const readme = readFileSync(resolve(root, "README.md"), "utf8");
  for (const file of ["worker.ts", "wrangler.jsonc", "hello.ts"]) {
    expect(readme).toContain(readFileSync(resolve(root, "examples/minimal", file), "utf8").trimEnd());
  }
});

test("the README's Worker, bundled for production, compacts a conversation that outgrows its threshold", async () => {
  await server.listen();
  const env = (await server.getWorker().getEnv()) as { ChatAgent: DurableObjectNamespace };
  const chat = env.ChatAgent.get(env.ChatAgent.idFromName("readme")) as unknown as Chat;
  const text = "We agreed to keep the ledger in one table, and to name a run after its session. ".repeat(200);
  let peak = 0;
  for (let n = 0; n < 30; n++) peak = Math.max(peak, await chat.say(`${n}: ${text}`));
  expect(peak).toBeGreaterThan(60_000);
  const [run] = await chat.runs({});
  const { outcome } = await chat.waitForRun({ runId: run?.id ?? "" });
  expect(outcome.kind).toBe("applied");
});
