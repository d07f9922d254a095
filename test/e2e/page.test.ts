/** The page in a real browser against the real Worker. Tests the acts of a person, and that a message cannot do any of them. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { branchTests } from "./branches.ts";
import { hostedTests } from "./hosted.ts";
import { steeringTests } from "./steering.ts";
import { expectAccessible, expectFits, readFromTop, Stage, talk, WITHOUT_BROWSER } from "./stage.ts";

if (WITHOUT_BROWSER !== null) console.warn(`The tests of the page are skipped: ${WITHOUT_BROWSER}.`);

describe.skipIf(WITHOUT_BROWSER !== null)("the page", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open({
      PALIMPSEST_THRESHOLD: "2000",
      PALIMPSEST_CHUNK_TOKENS: "400",
      PALIMPSEST_MODEL_DELAY_MS: "700",
      PALIMPSEST_WATCHDOG_SECONDS: "2",
      PALIMPSEST_PRICES: '{"*":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75}}',
    });
  });

  afterEach(() => stage.settle());
  afterAll(() => stage.close());

  /** A session with one layer, made past the page. */
  async function layered(sessionId: string): Promise<void> {
    await stage.seed(sessionId, talk(0, 20));
    const [run] = (await stage.call("runs", { sessionId })) as { id: string }[];
    await stage.call("waitForRun", { runId: run?.id });
  }

  test("typing past the threshold starts a run, which is watched to its end; its layer opens down to an original; undo and redo (M1, R1)", async () => {
    await stage.seed("typed", talk(0, 14));
    const page = await stage.visit("#session?agent=demo&id=typed");
    const box = page.getByLabel("Say something");
    await page.getByText("Step 13:").first().waitFor();
    for (const { parts } of talk(14, 20)) {
      const [part] = parts;
      await box.fill(part?.type === "text" ? part.text.trim() : "");
      await box.press("Enter");
      await expect.poll(() => box.inputValue()).toBe("");
    }
    await page.locator(".live-run .progress").waitFor();
    await page.getByText(/Run 1 ended: .* tokens/).waitFor();

    await page.getByRole("button", { name: /^Layer 1/ }).click();
    const panel = page.locator(".layer-panel");
    await panel.getByRole("button", { name: "What lies beneath" }).click();
    await panel.getByText("Step 5:").first().waitFor();
    await panel.getByRole("button", { name: "What it says" }).click();
    await panel
      .getByRole("button", { name: /source/ })
      .first()
      .click();
    await panel.getByRole("article").first().waitFor();
    await panel.getByRole("button", { name: "What it changed" }).click();
    await panel.getByText("all of it is new").waitFor();

    await panel.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("button", { name: /Layer 1, rolled back/ }).waitFor();
    await panel.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("button", { name: /Layer 1, level 0/ }).waitFor();
  });

  test("the person reads what the model does not: originals in place of the summary, and both side by side (M1)", async () => {
    await layered("read");
    const page = await stage.visit("#session?agent=demo&id=read&reading=model");
    const model = page.getByRole("log", { name: "As the model sees it" });
    await model.getByText("Step 19:").first().waitFor();
    await readFromTop(model, /what the model reads instead of/);
    await page.getByRole("link", { name: "Side by side" }).click();
    const person = page.getByRole("log", { name: "As it was written" });
    await readFromTop(person, /Under layer 1/);
    await person.getByText("Step 6:").first().waitFor();
  });

  test("the health page tells what the conversation costs, at the Worker's prices, and what it would have cost", async () => {
    await layered("priced");
    const call = { sessionId: "priced", model: "provider:large", outputTokens: 100 };
    await stage.call("recordUsage", { ...call, inputTokens: 3_000, writtenTokens: 3_000 });
    await stage.call("recordUsage", { ...call, inputTokens: 3_200, cachedTokens: 3_000, writtenTokens: 200 });
    const page = await stage.visit("#health?agent=demo");
    await page.getByLabel("Session").selectOption("priced");
    const costs = page.getByRole("table", { name: "Tokens and costs by model" });
    const own = costs.getByRole("row", { name: /^provider:large/ });
    // 3,200 written, 3,000 read and 200 answered.
    await own.getByText("0.0159").waitFor();
    await costs.getByRole("row", { name: /for summaries/ }).waitFor();
    await costs.getByRole("row", { name: /^without compaction, estimated/ }).waitFor();
    await expectAccessible(page);
  });

  test("a reload in the middle of a run finds it again, and its end (R1)", async () => {
    await stage.seed("reload", talk(0, 24));
    const page = await stage.visit("#session?agent=demo&id=reload");
    await page.locator(".live-run .progress").waitFor();
    await page.reload();
    await page.getByRole("button", { name: /^Layer 1/ }).waitFor();
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("link", { name: /Run 1 applied/ }).click();
    await page.getByRole("row", { name: /merge/ }).first().waitFor();
    expect(await page.getByRole("row", { name: /summarize/ }).count()).toBeGreaterThan(1);
  });

  test("a session is split from its page; the parent says where it goes on, and the list shows the family (R1)", async () => {
    await layered("parent");
    const page = await stage.visit("#session?agent=demo&id=parent");
    await page.getByRole("button", { name: "Split …" }).click();
    await page.getByLabel(/What the child is called/).fill("The child");
    await page.getByRole("dialog").getByRole("button", { name: "Split" }).click();
    await page
      .getByText(/split: the child begins with/)
      .first()
      .waitFor();
    await page.getByRole("link", { name: "Conversation" }).click();
    await page.getByRole("link", { name: "the next one" }).click();
    await page.getByRole("heading", { name: "The child" }).waitFor();
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByText("↳ goes on").waitFor();
  });

  test("by keyboard alone: past the top, into a layer and out again", async () => {
    await layered("keys");
    const page = await stage.visit("#session?agent=demo&id=keys");
    await page.getByRole("button", { name: /^Layer 1/ }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("To the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate("document.activeElement.className.includes('note-button')")) break;
    }
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Layer 1" }).waitFor();
    await page.getByRole("link", { name: "Close" }).press("Enter");
    await page.getByRole("heading", { name: "Layer 1" }).waitFor({ state: "hidden" });
    // Focus returns to its place, so that the next Tab goes on from there, also when the layer was opened by its address.
    await page.locator(".note-button:focus").waitFor();
    const { result } = await page.evaluate<{ result: string }>("({ result: document.activeElement.dataset.overlay })");
    await page.goto(`${stage.worker.url}/#session?agent=demo&id=keys&overlay=${result}`);
    await page.reload();
    await page.getByRole("heading", { name: "Layer 1" }).waitFor();
    await page.getByRole("link", { name: "Close" }).press("Enter");
    await page.locator(".note-button:focus").waitFor();
  });

  test("a layer whose messages were edited keeps its words back, and says why (C3)", async () => {
    await layered("edited");
    const [covered] = talk(12, 13);
    const parts = [{ type: "text", text: "Step 12: never mind." }];
    await stage.call("update", { sessionId: "edited", message: { ...covered, parts } });
    // The messages of the draft with the edited one get a layer of their own.
    const isMended = async (): Promise<boolean> => {
      const runs = (await stage.call("runs", { sessionId: "edited" })) as { outcome: unknown }[];
      return runs.length > 1 && runs.every(({ outcome }) => outcome !== null);
    };
    await expect.poll(isMended, { timeout: 60_000 }).toBe(true);
    const page = await stage.visit("#session?agent=demo&id=edited");
    await page.getByRole("button", { name: /^Layer 1, given way/ }).click();
    const panel = page.locator(".layer-panel");
    for (const look of ["What it says", "What it changed"]) {
      await panel.getByRole("button", { name: look }).click();
      await panel.getByText("Its words are withheld.").waitFor();
    }
    await panel.getByRole("button", { name: "What lies beneath" }).click();
    const deeper = panel.getByRole("button", { name: "A deeper layer: look beneath" });
    await deeper.first().waitFor();
    // Each that is opened is called otherwise from then on.
    for (let left = await deeper.count(); left > 0; left--) await deeper.first().click();
    await panel.getByText("Step 12: never mind.").waitFor();
    await expectAccessible(page);
  });

  steeringTests(() => stage);
  branchTests(() => stage);
  hostedTests(() => stage);

  const themes = ["light", "dark"] as const;
  const widths = [375, 1280];
  test.for(themes.flatMap((scheme) => widths.map((width) => [scheme, width] as const)))(
    "no page has a violation that axe knows of, nor scrolls sideways: %s, %i pixels",
    async ([scheme, width]) => {
      const sessionId = `axe-${scheme}-${width}`;
      await layered(sessionId);
      const [run] = (await stage.call("runs", { sessionId })) as { id: string }[];
      const [overlay] = (await stage.call("getCompactions", { sessionId })) as { id: string }[];
      const session = `#session?agent=demo&id=${sessionId}`;
      const page = await stage.visit("#sessions?agent=demo", { scheme, width });
      const places = [
        ["#sessions?agent=demo&query=promise", ".hits li"],
        [`${session}&overlay=${overlay?.id}`, ".layer-panel .looks"],
        [`${session}&reading=both`, ".talks-both .message"],
        [`${session}&asOf=${overlay?.id}`, ".message"],
        [`#runs?agent=demo&id=${sessionId}&run=${run?.id}`, ".waterfall tbody tr"],
        ["#health?agent=demo", ".plots .card"],
        ["#session?agent=demo&id=empty", ".empty"],
      ] as const;
      for (const [hash, sign] of places) {
        await page.goto(`${stage.worker.url}/${hash}`);
        await page.locator(sign).first().waitFor();
        await expectAccessible(page);
        await expectFits(page);
      }
    },
  );

  const HOSTILE = [
    "<script>alert('script')</script><img src=x onerror=\"alert('img')\"><svg onload=\"alert('svg')\"><a href=\"javascript:alert('a')\">x</a>",
    "![pixel](https://evil.example/pixel.png) ![data](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "[click](javascript:alert('md')) [data](data:text/html,<script>alert('d')</script>) [fake](#health?agent=other)",
    '<iframe src="https://evil.example"></iframe><style>body{display:none}</style><form action="https://evil.example"><input></form>',
    `${">".repeat(9_000)} deep ${"[".repeat(9_000)} ${"*".repeat(9_000)}`,
    "giant ".repeat(100_000),
    "controls \u0000\u0007\u001b[31m and \u202emoc.elpmaxe//:sptth\u202c marks",
    "`".repeat(3_000) + "<script>alert('fence')</script>",
  ];

  test("hostile messages are text: no script runs, no dialog opens, no other host is asked, no link lies about where it leads", async () => {
    const messages = HOSTILE.map((text, at) => ({
      id: `<b onclick=alert(${at})>${at}`,
      role: "user" as const,
      parts: [{ type: "text" as const, text }],
    }));
    const tool = {
      id: "tool",
      role: "assistant" as const,
      parts: [
        {
          type: "tool-<img src=x onerror=alert(1)>" as const,
          toolCallId: "c",
          state: "output-available" as const,
          input: "<svg onload=alert(2)>",
          output: "data:text/html,<script>alert(3)</script>",
        },
        {
          type: "file" as const,
          mediaType: "image/svg+xml",
          url: "https://evil.example/file.svg",
          filename: "<script>alert(4)</script>",
        },
      ],
    };
    const roomy = messages.slice(0, 4).concat(messages[6] ?? []);
    await stage.seed("hostile", [...roomy, tool]);
    await stage.seed("hostile-giant", [messages[4] ?? tool, messages[7] ?? tool, messages[5] ?? tool]);
    await stage.call("renameSession", { sessionId: "hostile", name: "<script>alert('name')</script>" });
    const page = await stage.visit("#session?agent=demo&id=hostile&reading=model");
    const log = page.getByRole("log");
    await log.getByText("c", { exact: false }).first().waitFor();
    await page.getByText("[file: <script>alert(4)</script>").waitFor();
    await page.locator("details.tool summary").first().click();
    await log.evaluate((box) => box.scrollTo(0, 0));
    await page.getByText("image: pixel, not loaded").waitFor();
    expect(await page.locator("#page :is(script, iframe, object, embed, style, log-form)").count()).toBe(0);
    expect(await log.locator("img, svg, form, input").count()).toBe(0);
    const links = await log.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(links.filter((href) => !/^https?:/.test(href ?? ""))).toEqual([]);
    expect(await page.locator("body").textContent()).not.toMatch(/[\u202a-\u202e]/);

    await page.goto(`${stage.worker.url}/#session?agent=demo&id=hostile-giant&reading=model`);
    await page
      .getByText(/more characters? not shown/)
      .first()
      .waitFor();
    await page.goto(`${stage.worker.url}/#sessions?agent=demo&query=alert`);
    await page.locator(".hits li").first().waitFor();
  });

  // The last test, because it takes the Worker away from under the others.
  test("a lost connection is told at once, what is shown is marked as stale, and all of it is fetched again when it is back", async () => {
    await stage.seed("lost", talk(0, 24));
    const page = await stage.visit("#session?agent=demo&id=lost", { mayFail: true });
    const link = page.locator(".link");
    await page.getByText("Step 23:").first().waitFor();
    await page.locator(".live-run .progress").waitFor();
    await stage.worker.kill();
    await page.getByText("The connection is down.").waitFor();
    await page.context().setOffline(true);
    await link.getByText("offline").waitFor();
    await page.locator(".stale").first().waitFor();
    await stage.worker.start();
    // What changes while nobody listens, and is told by no event afterwards.
    const [run] = (await stage.call("runs", { sessionId: "lost" })) as { id: string }[];
    await stage.call("cancelRun", { runId: run?.id });
    await stage.call("renameSession", { sessionId: "lost", name: "Renamed meanwhile" });
    await page.context().setOffline(false);
    await link.getByText("live").waitFor();
    await page.getByRole("heading", { name: "Renamed meanwhile" }).waitFor();
    await page.getByText("The connection is down.").waitFor({ state: "hidden" });
    await page.locator(".stale").first().waitFor({ state: "hidden" });
    await page.locator(".live-run .progress").waitFor({ state: "hidden" });
    await stage.seed("lost", talk(24, 25));
    await page.getByText("Step 24:").first().waitFor();
  });
});
