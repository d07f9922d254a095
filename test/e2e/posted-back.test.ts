/** A long chat in a real browser, never reloaded: its page keeps the messages that the host pruned, and posts all of them with each turn. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentClient } from "agents/client";
import { build } from "esbuild";
import type { CompactionClient } from "palimpsest";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import type { CLIENTS } from "../../examples/ai-chat/worker.ts";
import { Person } from "../examples/chat/person.ts";
import { installChat } from "../examples/chat/installed.ts";
import { openBrowser, WITHOUT_BROWSER } from "./stage.ts";

const TURNS = 120;

function textOf(n: number): string {
  return n % 3 === 0 ? `track ${n}` : `${n}: ${"it matters to the ledger. ".repeat(8)}`;
}

describe.skipIf(WITHOUT_BROWSER !== null)("a chat of a browser", () => {
  let folder: string;
  let server: ReturnType<typeof createTestHarness>;
  let origin: URL;
  let browser: Browser;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "palimpsest-kept-"));
    const configPath = await installChat(folder, "kept-chat.ts", ["src", "index.html"]);
    await bundlePage(folder);
    const config = await readFile(configPath, "utf8");
    await writeFile(configPath, config.replace('"main"', '"assets": { "directory": "public" },\n  "main"'));
    server = createTestHarness({ workers: [{ configPath }] });
    origin = (await server.listen()).url;
    browser = await openBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  test(`${TURNS} turns with maxPersistedMessages = 100: as many runs as without that line, and no summary is lost`, async () => {
    await Promise.all([write("all"), talk("keeps")]);
    const [without, kept] = [await look("all"), await look("keeps")];
    expect(kept.runs.length).toBeLessThanOrEqual(without.runs.length);
    expect(kept.runs.filter((outcome) => outcome === "failed" || outcome === "stale")).toEqual([]);
    expect(kept.summaries.length).toBeGreaterThan(3);
    expect(kept.summaries.filter((state) => state !== "active")).toEqual([]);
  }, 300_000);

  async function talk(name: string): Promise<void> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${origin.origin}/#${name}`);
    for (let n = 1; n <= TURNS; n++) {
      await page.getByLabel("Message").fill(textOf(n));
      await page.getByRole("button", { name: "Send" }).click();
      // Each answer ends with how much the model was shown.
      const answer = page.locator("li.assistant").nth(n - 1);
      await answer.getByText(/tokens\.$/).waitFor();
    }
    await page.context().close();
  }

  /** The same turns without a browser. */
  async function write(name: string): Promise<void> {
    const person = new Person(origin.host, name);
    for (let n = 1; n <= TURNS; n++) await person.say(textOf(n));
    person.leave();
  }

  async function look(name: string) {
    const agent = new AgentClient({ agent: "Chat", name, host: origin.host, protocol: "ws" });
    const calls = agent.stub as unknown as CompactionClient<typeof CLIENTS>;
    while ((await calls.liveRuns()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const runs = (await calls.runs({ limit: 100 })).map(({ outcome }) => outcome?.kind);
    const summaries = (await calls.getCompactions()).map(({ state }) => state);
    agent.close();
    return { runs, summaries };
  }
});

/** The example's page, as Vite would serve it. */
async function bundlePage(folder: string): Promise<void> {
  await mkdir(join(folder, "public"));
  await build({
    entryPoints: [join(folder, "src/main.tsx")],
    outfile: join(folder, "public/main.js"),
    bundle: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  const html = await readFile(join(folder, "index.html"), "utf8");
  const served = html.replace('src="/src/main.tsx"', 'src="/main.js"').replace(/^.*stylesheet.*\n/m, "");
  await writeFile(join(folder, "public/index.html"), served);
}
