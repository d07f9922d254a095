/** The page of a locked Worker whose summaries wait for a person, and the page of a long conversation. */
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { awayTests } from "./away.ts";
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
      PALIMPSEST_NOTES: "yes",
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

  test("a Worker that lets nobody in is told by its own words, and nothing is said to be read meanwhile", async () => {
    const message = "[unauthorized] The page is locked, and its secret is not set.";
    const page = await stage.visit("#sessions?agent=demo", {
      mayFail: true,
      before: (opened) =>
        opened.route("**/ticket", (route) => route.fulfill({ status: 403, json: { error: { message } } })),
    });
    await page.getByText("This page is closed. The page is locked, and its secret is not set.").waitFor();
    await page.getByText("Not read yet: the sessions.").waitFor();
    expect(await page.getByText("is not here, or not yours").count()).toBe(0);
    await expectAccessible(page);
    await page.unroute("**/ticket");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByLabel("Secret").waitFor();
  });

  test("asks for the secret, refuses a wrong one, and never puts it into an address", async () => {
    const page = await stage.visit("#sessions?agent=demo", { mayFail: true });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("websocket", (socket) => asked.push(socket.url()));
    await page.getByLabel("Secret").fill("a-wrong-secret-of-24-chars");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Unlock" }).click();
    const said = page.getByText("The Worker did not take this secret.");
    await said.waitFor();
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 800 });
      const note = await said.boundingBox();
      const button = await page.getByRole("button", { name: "Unlock" }).boundingBox();
      expect(button?.y).toBeGreaterThan((note?.y ?? 0) + (note?.height ?? 0));
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await expectAccessible(page);
    // One that no header can hold is not even sent, and not kept for the next time.
    await page.getByLabel("Secret").fill(`“${SECRET}”`);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("This cannot be the secret: it holds ““”").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.getByLabel("Agent").fill("ada@example.com: 100%");
    await page.getByLabel("Agent").press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(new URL(page.url()).hash).toContain("ada%40example.com");
    await page.getByLabel("Secret").fill(SECRET);
    await page.getByRole("button", { name: "Unlock" }).click();
    // An agent whose name holds characters that a path can write in two ways.
    await page.getByText("No conversation yet.").waitFor();
    const used = asked.findLast((url) => url.includes("ticket="));
    expect(used).toBeDefined();
    expect(asked.filter((url) => url.includes("secret"))).toEqual([]);
    // An address read from a log opens nothing. Its ticket is spent, and a page that reconnects asks for another.
    expect(await opens(used ?? "")).toBe(false);
    for (const offline of [true, false]) {
      await page.context().setOffline(offline);
      await page
        .locator(".link")
        .getByText(offline ? "offline" : "live")
        .waitFor();
    }
    await page.reload();
    await page.getByText("No conversation yet.").waitFor();
    const tickets = asked.flatMap((url) => new URL(url).searchParams.getAll("ticket"));
    expect(tickets.length).toBeGreaterThanOrEqual(3);
    expect(new Set(tickets).size).toBe(tickets.length);
  });

  awayTests(() => stage, SECRET);

  test("a summary waits for a person: unsound text is sent back, changed text is laid; another one is rejected (C1, V3)", async () => {
    await stage.seed("waits", talk(0, 22));
    const page = await unlocked("#session?agent=demo&id=waits");
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.getByRole("link", { name: /Run \d+ waits for you/ }).click();
    const text = page.getByLabel(/The summary/);
    const draft = await text.inputValue();
    await expectAccessible(page);
    // A person may say what matters in a few words, but not nothing.
    await text.fill("## Decisions\nNone.");
    await page.getByRole("button", { name: "Approve as changed" }).click();
    await page.getByText(/Not yet:/).waitFor();
    await text.fill(`${draft}\n- Read and signed\u202e\u{e0041} by a person.`);
    await page.getByText("characters that cannot be seen: U+202E, U+E0041.").waitFor();
    await page.getByRole("button", { name: "Take them out" }).click();
    expect(await text.inputValue()).toBe(`${draft}\n- Read and signed by a person.`);
    await page.getByRole("button", { name: "Approve as changed" }).click();
    await page.getByRole("link", { name: "The layer" }).click();
    await page
      .locator(".layer-panel")
      .getByText(/Read and signed by a person/)
      .waitFor();

    await stage.seed("waits", talk(22, 34));
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.getByRole("link", { name: /Run \d+ waits for you/ }).click();
    await page.getByRole("button", { name: "Reject" }).click();
    await page
      .getByText(/A person rejected the summary/)
      .first()
      .waitFor();
  });

  test("a run that waits has nothing to pause or to do again; a no and a retry ask again; a plain yes is enough (C1, R3)", async () => {
    await stage.seed("again", talk(0, 22));
    const page = await unlocked("#session?agent=demo&id=again");
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page.getByRole("link", { name: /Run \d+ waits for you/ }).click();
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: /Pause|Resume|Do it again/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator(".run-detail").getByRole("heading", { name: /Run 2/ }).waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Approved.").or(page.locator(".run-detail .state-applied")).first().waitFor();
    await page.getByRole("link", { name: "The layer" }).waitFor();
    const runs = await stage.call("runs", { sessionId: "again" });
    expect(runs).toMatchObject([
      { outcome: { kind: "applied" }, modelCalls: 0 },
      { outcome: { kind: "nothing", reason: "declined" }, modelCalls: 1 },
    ]);
  });

  test("notes are asked for, changed by hand, brought up to date, and one version is held against another", async () => {
    await stage.seed("noted", talk(0, 4));
    const page = await unlocked("#session?agent=demo&id=noted");
    const notes = page.getByRole("region", { name: "Notes" });
    await notes.getByText("No version holds").waitFor();
    await notes.getByRole("button", { name: "Bring up to date" }).click();
    await notes.getByText(/^Version 1, .* kept in the background/).waitFor();
    const section = notes.locator("details").first();
    const title = (await section.locator("summary").innerText()).replace(/\sempty$/, "");
    await section.locator("summary").click();
    await section.getByRole("button", { name: "change" }).click();
    await section.getByRole("textbox").fill("- Written and signed by a person.");
    // An update that comes while somebody types takes nothing from them, and they are told.
    await stage.call("updateNotes", { sessionId: "noted", sections: [{ title: "Aside", text: "- From elsewhere." }] });
    await stage.seed("noted", talk(4, 5));
    await section.getByText(/Version 2 came meanwhile/).waitFor();
    await section.getByRole("button", { name: "Save" }).click();
    await notes.getByText(/^Version 3, .* changed by hand/).waitFor();
    await stage.seed("noted", talk(5, 8));
    await notes.getByRole("button", { name: "Bring up to date" }).click();
    await notes.getByText(/^Version 4, /).waitFor();

    await notes.getByRole("button", { name: "Versions" }).click();
    await notes.getByLabel("Version").selectOption("3");
    await notes.getByLabel("against").selectOption("2");
    const changed = notes.getByRole("region", { name: title.trim() });
    await changed.getByRole("insertion").getByText("Written and signed by a person.").waitFor();
    await expectAccessible(page);
  });

  test("the first notes are written on the page; a version that the page did not show yet is not replaced", async () => {
    await stage.seed("first", talk(0, 4));
    const page = await unlocked("#session?agent=demo&id=first");
    const notes = page.getByRole("region", { name: "Notes" });
    await notes.getByText("No version holds").waitFor();
    const section = notes.locator("details").first();
    await section.locator("summary").click();
    await section.getByRole("button", { name: "change" }).click();
    await section.getByRole("textbox").fill("- Written first.");
    // The page learns of notes only when it reads them again, so it does not know this version.
    await stage.call("updateNotes", { sessionId: "first", sections: [{ title: "Aside", text: "- Unseen." }] });
    await section.getByRole("button", { name: "Save" }).click();
    await notes.getByText(/^Version 1, .* changed by hand/).waitFor();
    const [version] = (await stage.call("notesHistory", { sessionId: "first" })) as { n: number; text: string }[];
    expect(version?.n).toBe(1);
    expect(version?.text).toContain("- Unseen.");
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
