/** Tests of a page whose connection breaks, with what it shows of runs and what happens to calls meanwhile. */
import type { Page, WebSocketRoute } from "playwright-core";
import { expect, test } from "vitest";
import { talk, type Stage } from "./stage.ts";

/** Delivers calls of this method, and breaks the connection instead of the first answer. */
async function swallowAnswer(page: Page, method: string): Promise<void> {
  let call = "";
  let over = false;
  await page.routeWebSocket(/\/agents\//, (socket: WebSocketRoute) => {
    const agent = socket.connectToServer();
    socket.onMessage((frame) => {
      if (!over && typeof frame === "string" && frame.includes(`"method":"${method}"`)) {
        call = (JSON.parse(frame) as { id: string }).id;
      }
      agent.send(frame);
    });
    agent.onMessage((frame) => {
      if (over || call === "" || !frame.includes(call)) return socket.send(frame);
      over = true;
      void socket.close({ code: 1012 });
    });
  });
}

/** For a locked Worker whose runs wait for a person, so that a live run stays live until it is decided. */
export function awayTests(stageOf: () => Stage, secret: string): void {
  async function visit(hash: string, before?: (page: Page) => Promise<void>): Promise<Page> {
    const page = await stageOf().visit(hash, { mayFail: true, ...(before !== undefined && { before }) });
    await page.getByLabel("Secret").fill(secret);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.locator(".link").getByText("live").waitFor();
    return page;
  }

  test("a run that ended while nobody listened is over, and said to be, on every page (R1)", async () => {
    const stage = stageOf();
    await stage.seed("away", talk(0, 22));
    const { run } = (await stage.call("compact", { sessionId: "away" })) as { run: { id: string; n: number } };
    const page = await visit("#session?agent=demo&id=away");
    await page.getByText(`Run ${run.n} waits for you`).waitFor();
    const [done, total] = await page
      .getByRole("progressbar")
      .evaluate((bar) => [bar.ariaValueNow, bar.ariaValueMax].map(Number));
    expect(done).toBeLessThan(total ?? 0);
    await page.context().setOffline(true);
    await page.getByText("The connection is down.").waitFor();
    await stage.call("approveRun", { runId: run.id });
    await stage.call("waitForRun", { runId: run.id });
    await page.context().setOffline(false);
    await page.getByText(`Run ${run.n} ended: `).waitFor();
    expect(await page.getByText(`Run ${run.n} waits`).count()).toBe(0);
    await page.getByRole("link", { name: "Sessions" }).click();
    const row = page.locator(".session-row").filter({ has: page.locator("a[href*='id=away']") });
    await row.waitFor();
    expect(await row.locator(".tag-live").count()).toBe(0);
  });

  test("what is asked while the connection is down is refused at once, and never done later; typed text stays (M1)", async () => {
    const stage = stageOf();
    await stage.seed("down", talk(0, 2));
    const page = await visit("#session?agent=demo&id=down");
    await page.getByText("Step 1:").first().waitFor();
    await page.context().setOffline(true);
    await page.getByText("The connection is down.").waitFor();
    const box = page.getByLabel("Say something");
    await box.fill("Typed once.");
    await box.press("Enter");
    await page.getByText("Nothing was sent").waitFor();
    expect(await box.inputValue()).toBe("Typed once.");
    await page.context().setOffline(false);
    await page.locator(".link").getByText("live").waitFor();
    await page.locator(".banner").waitFor({ state: "hidden" });
    // Waits for the answer to a later call, so that any frame that was kept for sending has been sent.
    await page.getByRole("link", { name: "As the model sees it" }).click();
    expect(await stage.call("getPathLength", { sessionId: "down" })).toBe(2);
    await box.press("Enter");
    await page.getByRole("article").filter({ hasText: "Typed once." }).waitFor();
    expect(await stage.call("getPathLength", { sessionId: "down" })).toBe(3);
  });

  test("where the Worker answers and lets nobody in, the page says why, instead of a connection that is down for ever", async () => {
    const json = { error: { code: "rate_limited", message: "[rate_limited] Too many connections were opened." } };
    const page = await stageOf().visit("#sessions?agent=demo", {
      mayFail: true,
      before: (page) => page.route("**/ticket", (route) => route.fulfill({ status: 429, json })),
    });
    await page.locator(".banner").getByText("Too many connections were opened.").waitFor();
    await page.unroute("**/ticket");
    await page.getByRole("button", { name: "Try now" }).click();
    await page.getByRole("dialog", { name: "This Worker is locked" }).waitFor();
  });

  test("a message whose answer was lost is stored once, and its box says so by being empty (M1)", async () => {
    const stage = stageOf();
    await stage.seed("cut", talk(0, 2));
    const page = await visit("#session?agent=demo&id=cut", (page) => swallowAnswer(page, "append"));
    await page.getByText("Step 1:").first().waitFor();
    const box = page.getByLabel("Say something");
    await box.fill("Heard, but not answered.");
    await box.press("Enter");
    await page.getByRole("article").filter({ hasText: "Heard, but not answered." }).waitFor();
    await expect.poll(() => box.inputValue()).toBe("");
    expect(await stage.call("getPathLength", { sessionId: "cut" })).toBe(3);
  });

  test("a decision whose answer was lost was made, and the page says which; a reason for a no is kept with the run (C1)", async () => {
    const stage = stageOf();
    await stage.seed("no", talk(0, 22));
    const { run } = (await stage.call("compact", { sessionId: "no" })) as { run: { id: string; n: number } };
    const page = await visit("#sessions?agent=demo", (page) => swallowAnswer(page, "rejectRun"));
    // Found without knowing the session in which it waits.
    await page.getByRole("region", { name: "Waiting for you" }).locator(`a[href*='${run.id}']`).click();
    await page.getByLabel(/^Why, if it is rejected/).fill("It forgets the tests.");
    await page.getByRole("button", { name: "Reject" }).click();
    await page.locator(".outcome").getByText("It forgets the tests.").waitFor();
    expect(await stage.call("getRun", { runId: run.id })).toMatchObject({
      outcome: { kind: "nothing", reason: "declined", detail: "It forgets the tests." },
    });
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.locator(".session-row a[href*='id=no']").first().waitFor();
    expect(await page.locator(`.hits a[href*='${run.id}']`).count()).toBe(0);
  });
}
