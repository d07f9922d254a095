/**
 * Makes the pictures of README and of docs/page.md from a real run, with the offline model: `npm run pictures`.
 *
 * Replays the demo's conversation to the deployable Worker, draws its strata (docs/images/strata.svg), and photographs the page in
 * Chromium (docs/images/page-*.png). A second Worker, whose summaries wait for a person, gives the pictures of that. Without Chromium it
 * makes the drawing alone.
 */
import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { AgentClient } from "agents/client";
import { chromium, type Browser, type Page } from "playwright-core";
import type { SessionStatus } from "../src/agent/sessions/session.ts";
import type { OverlayRecord } from "../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../src/memory/runs/runs.ts";
import { freePort, LocalWorker } from "./demo/local-worker.ts";
import { readConversations } from "./demo/transcript.ts";
import { drawStrata, type Band, type Conversation, type Frame } from "./pictures/strata.ts";
import { measureMessage } from "../src/steps/message/message.ts";
import { estimateTokens } from "../src/steps/tokens/tokens.ts";

const IMAGES = join(import.meta.dirname, "../docs/images");
const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const THRESHOLD = 6_000;
const PRICES = '{"*":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75}}';
/** How long a page may take to show something (ms). */
const PATIENCE_MS = 90_000;

const { conversations } = await readConversations({ file: null, index: 0 });
const messages = conversations[0]?.messages ?? [];
const browser = existsSync(CHROMIUM)
  ? await chromium.launch({ executablePath: CHROMIUM, args: ["--headless", "--no-sandbox", "--disable-gpu"] })
  : null;
if (browser === null)
  console.warn(`There is no browser at ${CHROMIUM} (set CHROMIUM_PATH): the page is not photographed.`);
try {
  await withWorker({ PALIMPSEST_PRICES: PRICES }, async (worker, agent) => {
    const conversation = await grow(agent, messages);
    await writeFile(join(IMAGES, "strata.svg"), drawStrata(conversation));
    if (browser !== null) await photographGrown(browser, worker.url, agent);
  });
  if (browser !== null) {
    await withWorker({ PALIMPSEST_APPROVAL: "discard", PALIMPSEST_NOTES: "yes" }, async (worker, agent) =>
      photographWaiting(browser, worker.url, agent),
    );
  }
} finally {
  await browser?.close();
}

/** One agent's calls. */
type Ask = <Result>(method: string, input: object) => Promise<Result>;

async function withWorker(
  vars: Readonly<Record<string, string>>,
  work: (worker: LocalWorker, ask: Ask) => Promise<void>,
): Promise<void> {
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-pictures-"));
  const all = { PALIMPSEST_THRESHOLD: String(THRESHOLD), PALIMPSEST_WATCHDOG_SECONDS: "2", ...vars };
  const worker = new LocalWorker({ stateDir, port: await freePort(), vars: all });
  await worker.start();
  const { host } = new URL(worker.url);
  const client = new AgentClient({ agent: "palimpsest-agent", name: "demo", host, protocol: "ws" });
  try {
    await work(worker, (method, input) => client.call(method, [input], { timeout: 120_000 }));
  } finally {
    client.close();
    await worker.close();
  }
}

function covers(above: Band, below: Band): boolean {
  return above.level > below.level && above.from <= below.to && below.from <= above.to;
}

/** Says one message after the other, lets each run land, and notes what is stored and what is seen. */
async function grow(ask: Ask, said: readonly UIMessage[]): Promise<Conversation> {
  const frames: Frame[] = [];
  const laid: OverlayRecord[][] = [];
  let storedTokens = 0;
  for (const message of said) {
    await ask("append", { message });
    storedTokens += measureMessage(message, estimateTokens).tokens;
    for (const runId of (await ask<SessionStatus>("status", {})).liveRunIds) await ask("waitForRun", { runId });
    const { viewTokens } = await ask<SessionStatus>("status", {});
    frames.push({ storedTokens, viewTokens, overlays: [] });
    laid.push(await ask<OverlayRecord[]>("getCompactions", {}));
    if (message.role === "assistant") {
      await ask("recordUsage", { inputTokens: viewTokens, outputTokens: 400, model: "a-model" });
    }
  }
  const at = new Map(said.map(({ id }, index) => [id, index]));
  const bands: Band[] = [];
  for (const { id, span } of await ask<OverlayRecord[]>("getCompactions", {})) {
    const [from, to] = [at.get(span.fromId) ?? 0, at.get(span.toId) ?? 0];
    // A later summary lies over the earlier ones that it replaced.
    const beneath = bands.filter((band) => band.from <= to && from <= band.to).map(({ level }) => level);
    bands.push({ id, from, to, level: Math.max(-1, ...beneath) + 1 });
  }
  // An earlier one that lies beneath a later one does not show.
  const shown = (known: readonly OverlayRecord[]): string[] => {
    const there = bands.filter(({ id }) => known.some((each) => each.id === id));
    return there.filter((band) => !there.some((other) => covers(other, band))).map(({ id }) => id);
  };
  return {
    frames: frames.map((frame, index) => ({ ...frame, overlays: shown(laid[index] ?? []) })),
    bands,
    thresholdTokens: THRESHOLD,
  };
}

async function photographGrown(browser: Browser, url: string, ask: Ask): Promise<void> {
  const overlays = await ask<OverlayRecord[]>("getCompactions", {});
  const top = overlays.findLast(({ state }) => state === "active");
  const run = (await ask<RunRecord[]>("runs", {})).find(({ outcome }) => outcome?.kind === "applied");
  const session = `#session?agent=demo&id=&reading=model&overlay=${top?.id}`;
  await photograph(browser, `${url}/${session}`, { name: "page-session", width: 1_400, height: 900 });
  const dark = `${url}/#session?agent=demo&id=&reading=both`;
  await photograph(browser, dark, { name: "page-dark", width: 1_200, height: 600, scheme: "dark" });
  await photograph(browser, `${url}/#runs?agent=demo&id=&run=${run?.id}`, {
    name: "page-run",
    width: 1_280,
    height: 700,
  });
  await photograph(browser, `${url}/#health?agent=demo`, { name: "page-health", width: 1_280, height: 700 });
}

async function photographWaiting(browser: Browser, url: string, ask: Ask): Promise<void> {
  const half = Math.ceil(messages.length / 2);
  await ask("appendAll", { sessionId: "asked", messages: messages.slice(0, half) });
  const fork = await ask<{ id: string }>("forkSession", { sessionId: "asked", atMessageId: messages[5]?.id });
  await ask("appendAll", { sessionId: "short", messages: messages.slice(0, 6) });
  await ask("renameSession", { sessionId: "short", name: "A short talk" });
  const page = await open(browser, `${url}/#sessions?agent=demo`, { width: 1_280, height: 420 });
  const runs = await ask<RunRecord[]>("runs", { sessionId: "asked" });
  const waiting = runs.find(({ kind }) => kind === "compaction");
  for (;;) {
    const run = await ask<RunRecord>("getRun", { runId: waiting?.id });
    if (run.state === "proposed" || run.outcome !== null) break;
    await page.waitForTimeout(200);
  }
  await ask("updateNotes", {
    sessionId: fork.id,
    sections: [
      { title: "Task", text: "Get to know the repository, and change nothing yet." },
      { title: "Rules", text: "- Small commits, each with its reason.\n- No new dependencies." },
    ],
  });
  await keep(page, "page-sessions");
  const asked = `${url}/#runs?agent=demo&id=asked&run=${waiting?.id}`;
  await photograph(browser, asked, { name: "page-waiting", width: 1_280, height: 898 });
  const narrow = await open(browser, `${url}/#session?agent=demo&id=${fork.id}`, {
    width: 375,
    height: 812,
    scheme: "dark",
  });
  await narrow.getByRole("heading", { name: "Notes" }).scrollIntoViewIfNeeded({ timeout: PATIENCE_MS });
  await narrow.getByRole("heading", { name: "Notes" }).evaluate((heading) => heading.scrollIntoView());
  await keep(narrow, "page-narrow");
}

interface Sight {
  readonly width: number;
  readonly height: number;
  readonly scheme?: "light" | "dark";
}

async function photograph(
  browser: Browser,
  address: string,
  { name, ...sight }: Sight & { name: string },
): Promise<void> {
  await keep(await open(browser, address, sight), name);
}

async function open(browser: Browser, address: string, { width, height, scheme = "light" }: Sight): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(address);
  await page.getByText("live", { exact: true }).waitFor();
  return page;
}

/** Once nothing is loading any more. */
async function keep(page: Page, name: string): Promise<void> {
  while ((await page.locator(".loading").count()) > 0) await page.waitForTimeout(100);
  await page.waitForTimeout(1_500);
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
  await page.context().close();
}
