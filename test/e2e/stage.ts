/**
 * The stage of the browser's tests, with the deployable Worker, its page, and a real Chromium that records every forbidden act.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { AgentClient } from "agents/client";
import type { UIMessage } from "ai";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";

const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/** Why the browser's tests are skipped. Null when they are not. */
export const WITHOUT_BROWSER = existsSync(CHROMIUM) ? null : `there is no browser at ${CHROMIUM} (set CHROMIUM_PATH)`;

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
const SILENT = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...SILENT] });
}

/** Longest wait for anything that must happen (ms). A Worker wakes slowly on a busy machine, and no test is about that. */
const PATIENCE_MS = 90_000;

/** Forbidden acts of one page, such as scripts that ran, requests to other hosts and uncaught errors. */
interface Account {
  readonly page: Page;
  readonly wrong: string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  /** True when a test breaks the connection on purpose, which the browser reports. */
  readonly mayFail?: boolean;
  /** Prepares the page before it is opened. */
  readonly before?: (page: Page) => Promise<unknown>;
}

export class Stage {
  readonly worker: LocalWorker;
  readonly #browser: Browser;
  readonly #stateDir: string;
  readonly #secret: string | undefined;
  #accounts: Account[] = [];

  private constructor(worker: LocalWorker, browser: Browser, kept: { stateDir: string; secret: string | undefined }) {
    this.worker = worker;
    this.#browser = browser;
    this.#stateDir = kept.stateDir;
    this.#secret = kept.secret;
  }

  static async open(vars: Record<string, string>): Promise<Stage> {
    const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-e2e-"));
    const worker = new LocalWorker({ stateDir, port: await freePort(), vars });
    await worker.start();
    return new Stage(worker, await openBrowser(), { stateDir, secret: vars["PALIMPSEST_SECRET"] });
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.worker.kill();
    await rm(this.#stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  /** Opens an address of the page in a fresh profile. */
  async visit(hash: string, options: PageOptions = {}): Promise<Page> {
    const { width = 1280, height = 900, scheme = "light", mayFail = false, before } = options;
    const context = await this.#browser.newContext({ viewport: { width, height }, colorScheme: scheme });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const wrong: string[] = [];
    page.on("pageerror", (error) => wrong.push(`uncaught: ${error.message}`));
    page.on("dialog", (dialog) => {
      wrong.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (message.type() === "error" && !mayFail) wrong.push(`console: ${message.text()}`);
    });
    const host = new URL(this.worker.url).host;
    page.on("request", (request) => {
      if (new URL(request.url()).host !== host) wrong.push(`asked ${request.url()}`);
    });
    this.#accounts.push({ page, wrong });
    await before?.(page);
    await page.goto(`${this.worker.url}/${hash}`);
    return page;
  }

  /** Closes the open pages and fails on any forbidden act. */
  async settle(): Promise<void> {
    const accounts = this.#accounts;
    this.#accounts = [];
    for (const { page } of accounts) await page.context().close();
    expect(accounts.flatMap(({ wrong }) => wrong)).toEqual([]);
  }

  /** Calls the agent without the page. */
  async call(method: string, input: object): Promise<unknown> {
    const secret = this.#secret;
    const query = secret === undefined ? {} : async () => ({ ticket: await this.#ticket(secret) });
    const { host } = new URL(this.worker.url);
    const client = new AgentClient({ agent: "palimpsest-agent", name: "demo", host, protocol: "ws", query });
    try {
      return await client.call(method, [input], { timeout: 60_000 });
    } finally {
      client.close();
    }
  }

  async #ticket(secret: string): Promise<string> {
    const url = `${this.worker.url}/agents/palimpsest-agent/demo/ticket`;
    const answer = await fetch(url, { method: "POST", headers: { Authorization: `Bearer ${secret}` } });
    return (await answer.json<{ ticket: string }>()).ticket;
  }

  async seed(sessionId: string, messages: readonly UIMessage[]): Promise<void> {
    await this.call("appendAll", { sessionId, messages });
  }
}

/**
 * Finds a text at the start of a conversation. A conversation opens at its end, so this scrolls up again while originals are still loading.
 */
export async function readFromTop(log: Locator, text: string | RegExp): Promise<void> {
  const wanted = log.getByText(text).first();
  const look = async (): Promise<boolean> => {
    await log.evaluate((box) => box.scrollTo(0, 0));
    return wanted.isVisible();
  };
  await expect.poll(look, { timeout: PATIENCE_MS }).toBe(true);
}

/** The page in its present state has no violation that axe knows. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`,
  );
  expect(found).toEqual([]);
}

/** The page does not scroll sideways, at any width. The expression is a string, because this side has no DOM types. */
export async function expectFits(page: Page): Promise<void> {
  const over = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  expect(over).toBeLessThanOrEqual(0);
}

/** About 110 tokens each, with alternating roles. */
export function talk(from: number, to: number): UIMessage[] {
  return Array.from({ length: to - from }, (_, at): UIMessage => {
    const n = from + at;
    const text = `Step ${n}: src/part-${n}.ts now keeps its promise number ${n}, and its test says so. `.repeat(5);
    return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
  });
}
