/** The page of a locked Worker whose summaries wait for a person, and of a long conversation. */
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, Stage, talk, WITHOUT_BROWSER } from "./stage.ts";

const SECRET = "a-secret-of-more-than-24-characters";

/** Whether a WebSocket opens at an address, for somebody else. */
async function opens(url: string): Promise<boolean> {
  const socket = new WebSocket(url);
  const came = await Promise.race(["open", "error"].map((type) => once(socket, type).then(() => type)));
  socket.close();
  return came === "open";
}

describe.skipIf(WITHOUT_BROWSER !== null)("the page of a locked Worker", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open({
      PALIMPSEST_SECRET: SECRET,
      PALIMPSEST_APPROVAL: "discard",
      PALIMPSEST_THRESHOLD: "3000",
      PALIMPSEST_WATCHDOG_SECONDS: "2",
    });
  });

  afterEach(() => stage.settle());
  afterAll(() => stage.close());

  async function unlocked(hash: string) {
    const page = await stage.visit(hash, { mayFail: true });
    await page.getByLabel("Secret").fill(SECRET);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    return page;
  }

  test("asks for the secret, refuses a wrong one, and never puts it into an address", async () => {
    const page = await stage.visit("#sessions?agent=demo", { mayFail: true });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("websocket", (socket) => asked.push(socket.url()));
    await page.getByLabel("Secret").fill("a-wrong-secret-of-24-chars");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.waitForResponse((response) => response.url().endsWith("/ticket") && response.status() === 401);
    await page.getByLabel("Secret").fill(SECRET);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("No conversation yet.").waitFor();
    const used = asked.findLast((url) => url.includes("ticket="));
    expect(used).toBeDefined();
    expect(asked.filter((url) => url.includes("secret"))).toEqual([]);
    // Whoever reads the address in a log has nothing: its ticket is spent, and a page that comes back asks for another.
    expect(await opens(used ?? "")).toBe(false);
    await page.reload();
    await page.getByText("No conversation yet.").waitFor();
    const tickets = asked.flatMap((url) => new URL(url).searchParams.getAll("ticket"));
    expect(new Set(tickets).size).toBe(tickets.length);
  });

  test("a summary waits for a person: unsound text is sent back, changed text is laid; another one is rejected (C1, V3)", async () => {
    await stage.seed("waits", talk(0, 22));
    const page = await unlocked("#session?agent=demo&id=waits");
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.getByRole("link", { name: /Run 1 is waiting/ }).click();
    const text = page.getByLabel(/The summary/);
    const draft = await text.inputValue();
    await expectAccessible(page);
    await text.fill("no");
    await page.getByRole("button", { name: "Approve as changed" }).click();
    await page.getByText(/Not yet:/).waitFor();
    await text.fill(`${draft}\n- Read and signed by a person.`);
    await page.getByRole("button", { name: "Approve as changed" }).click();
    await page.getByRole("link", { name: "The layer" }).click();
    await page
      .locator(".layer-panel")
      .getByText(/Read and signed by a person/)
      .waitFor();

    await stage.seed("waits", talk(22, 34));
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.getByRole("link", { name: /Run 2 is waiting/ }).click();
    await page.getByRole("button", { name: "Reject" }).click();
    await page
      .getByText(/A person rejected the summary/)
      .first()
      .waitFor();
  });

  test("of three thousand messages only those in sight are in the document, and the newest are read first", async () => {
    const short = Array.from({ length: 3_000 }, (_, n) => ({
      id: `s${n}`,
      role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
      parts: [{ type: "text" as const, text: `line ${n}` }],
    }));
    await stage.seed("long", short);
    const page = await unlocked("#session?agent=demo&id=long");
    await page.getByText("line 2999").waitFor();
    expect(await page.locator(".message").count()).toBeLessThan(60);
    const log = page.getByRole("log");
    await log.evaluate((box) => box.scrollTo(0, 0));
    await log.getByText("line 0", { exact: true }).waitFor();
    expect(await page.locator(".message").count()).toBeLessThan(60);
  });
});
