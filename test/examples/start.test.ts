/** The README's whole chat is examples/start, letter by letter. It answers a page over a WebSocket, with its tool, and is compacted. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentClient } from "agents/client";
import { createTestHarness } from "wrangler";
import { configOf } from "./config.ts";

const root = resolve(import.meta.dirname, "../..");
const provider = join(root, "test/examples/offline-provider.ts");
const server = createTestHarness({
  workers: [{ configPath: configOf("start", { alias: { "workers-ai-provider": provider } }) }],
});
beforeAll(async () => void (await server.listen()));
afterAll(() => server.close());

test("the README shows it as it is tested here", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  for (const file of ["chat.ts", "wrangler.jsonc", "public/index.html"]) {
    expect(readme).toContain(readFileSync(join(root, "examples/start", file), "utf8").trimEnd());
  }
});

test("it answers in the page's words, calls its tool, and is compacted in the background", async () => {
  const { url } = await server.listen();
  const agent = new AgentClient({ agent: "ChatAgent", name: "ada", host: url.host });
  const call = (method: string, ...args: unknown[]): Promise<unknown> => agent.call(method, args);
  expect(await call("say", "What day is it?")).toContain(new Date().getFullYear().toString());
  for (let n = 0; n < 40; n++) await call("say", `${n}: ${"We keep the ledger in one table. ".repeat(800)}`);
  const [run] = (await call("runs", {})) as readonly { readonly id: string }[];
  const ended = async (): Promise<boolean> => ((await call("liveRuns", {})) as unknown[]).length === 0;
  while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await call("getRun", { runId: run?.id })).toMatchObject({ outcome: { kind: "applied" } });
  expect(await call("status", {})).toMatchObject({ windowTokens: 131_072, thresholdTokens: 104_857 });
  agent.close();
});
