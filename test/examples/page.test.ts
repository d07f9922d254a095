/** The page in a Worker of one's own, as the documents show it, in a real browser. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { buildPage } from "../../scripts/build-page.ts";
import { ALIAS } from "./config.ts";

const root = resolve(import.meta.dirname, "../..");
const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const SECRET = "a-secret-of-more-than-24-characters";

/** The Worker of the documents, with a threshold that a short conversation reaches. */
function documented(): string {
  const page = readFileSync(join(root, "docs/page.md"), "utf8");
  const code =
    [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].find(([, code]) => code?.includes("createPage"))?.[1] ?? "";
  expect(code).toContain("compactAfter(60_000)");
  return code.replace("60_000", "2_000");
}

function configOf(): string {
  const folder = join(root, ".state", `page-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "worker.ts"), documented());
  const config = {
    name: "with-page",
    main: "worker.ts",
    compatibility_date: "2026-08-01",
    compatibility_flags: ["nodejs_compat"],
    durable_objects: { bindings: [{ name: "ChatAgent", class_name: "ChatAgent" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["ChatAgent"] }],
    workflows: [{ name: "with-page", binding: "COMPACTION_WORKFLOW", class_name: "CompactionWorkflow" }],
    vars: { PAGE_SECRET: SECRET },
    alias: ALIAS,
  };
  writeFileSync(join(folder, "wrangler.jsonc"), JSON.stringify(config));
  return join(folder, "wrangler.jsonc");
}

describe("the Worker of the documents", () => {
  let server: ReturnType<typeof createTestHarness>;
  let origin: string;

  beforeAll(async () => {
    await buildPage();
    server = createTestHarness({ workers: [{ configPath: configOf() }] });
    ({ origin } = (await server.listen()).url);
  });
  afterAll(() => server.close());

  test("serves the page at its path, and its own routes beside it", async () => {
    const html = await (await fetch(`${origin}/palimpsest/`)).text();
    expect(html).toContain('content="chat-agent"');
    const files = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, file]) => file ?? "");
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const file of files) expect((await fetch(`${origin}/palimpsest/${file}`)).status).toBe(200);
    expect((await fetch(`${origin}/`)).status).toBe(404);
    expect((await fetch(`${origin}/palimpsest/agents/chat-agent/ada/ticket`, { method: "POST" })).status).toBe(401);
  });

  test.skipIf(!existsSync(CHROMIUM))(
    "shows in a browser a conversation that is typed past the threshold, to the layer that it gets",
    async () => {
      const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
      const browser = await chromium.launch({ executablePath: CHROMIUM, args });
      try {
        const page = await browser.newPage();
        page.setDefaultTimeout(90_000);
        const wrong: string[] = [];
        page.on("pageerror", ({ message }) => wrong.push(message));
        page.on("request", (request) => {
          if (!request.url().startsWith(`${origin}/palimpsest/`)) wrong.push(request.url());
        });
        await page.goto(`${origin}/palimpsest/#session?agent=ada&id=`);
        await page.getByLabel("Secret").fill(SECRET);
        await page.getByRole("button", { name: "Unlock" }).click();
        const box = page.getByLabel("Say something");
        for (let n = 0; n < 16; n++) {
          await box.fill(`Step ${n}: src/part-${n}.ts now keeps its promise, and its test says so. `.repeat(10).trim());
          await box.press("Enter");
          await expect.poll(() => box.inputValue(), { timeout: 90_000 }).toBe("");
        }
        await page.getByRole("button", { name: /^Layer 1/ }).waitFor();
        await page.getByRole("link", { name: "Health" }).click();
        await page.getByRole("heading", { name: "What the conversation costs" }).waitFor({ state: "hidden" });
        await page.getByRole("main").getByRole("heading").first().waitFor();
        expect(wrong).toEqual([]);
      } finally {
        await browser.close();
      }
    },
  );
});
