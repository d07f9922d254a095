/** The page shows which summariser would have kept more, and for how much. */
import { mkdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ShadowComparison } from "../../src/shadow/compare.ts";
import { ModelServer } from "../kill/model-server.ts";
import { expectAccessible, expectFits, Stage, talk, WITHOUT_BROWSER } from "./stage.ts";

const SHADOW = "second";
const SESSION = "compared";
/** A conversation with more names than fit beside a summary. */
const MESSAGES = talk(0, 20).map((message, n) => ({
  ...message,
  parts: [...message.parts, { type: "text" as const, text: `Orders ${ordersOf(n).join(", ")}.` }],
}));

/** What the shadow's summaries tell: names of old messages, which the Worker's names beside a summary have no room for. */
const NAMES = [...ordersOf(3), ...ordersOf(4).slice(0, 3)];

function ordersOf(n: number): string[] {
  return Array.from({ length: 6 }, (_, at) => `QX-${n}${at}${(n * 7 + at * 31) % 100}`);
}

describe.skipIf(WITHOUT_BROWSER !== null)("the card of shadows", () => {
  let model: ModelServer;
  let stage: Stage;

  beforeAll(async () => {
    model = await ModelServer.start();
    model.says = (asked) => (asked.model === SHADOW ? `We shipped ${NAMES.join(", ")}.` : `Seen: ${asked.key}`);
    stage = await Stage.open({
      PALIMPSEST_THRESHOLD: "2000",
      PALIMPSEST_MODEL_URL: model.url,
      PALIMPSEST_MODEL: "held",
      PALIMPSEST_SHADOW: SHADOW,
    });
  });

  afterAll(async () => {
    await stage.close();
    await model.stop();
  });

  test("says which would have shown more names and for what share of the tokens, in each theme and width", async () => {
    await stage.seed(SESSION, MESSAGES);
    const compared = async () => (await stage.call("compareShadows", { sessionId: SESSION })) as ShadowComparison;
    await expect.poll(async () => (await compared()).shadows[0]?.kept, { timeout: 60_000 }).toBe(1);
    const [before] = (await compared()).shadows;
    expect(before).toMatchObject({ name: SHADOW, compared: 0 });
    const page = await stage.visit("#health?agent=demo");
    await page.getByLabel("Session").selectOption(SESSION);
    const card = page.locator("section", {
      has: page.getByRole("heading", { name: "Which summariser would have kept" }),
    });
    await card.getByText("What was needed again is not known yet.").waitFor();

    const text = `Look at ${[...ordersOf(3), ...ordersOf(4), ...ordersOf(11)].join(" and ")} again.`;
    await stage.seed(SESSION, [{ id: "again", role: "user", parts: [{ type: "text", text }] }]);
    const [after] = (await compared()).shadows;
    const { names = 0, real, shadow } = after ?? {};
    expect(shadow?.inView).toBeGreaterThan(real?.inView ?? names);
    const more = (shadow?.inView ?? 0) - (real?.inView ?? 0);
    await card
      .getByText(
        `It would have shown ${more} name${more === 1 ? "" : "s"} more, ${shadow?.inView} of ${names}, for 100 % of the tokens.`,
      )
      .waitFor();
    const row = card.getByRole("row", { name: new RegExp(`^${SHADOW}`) });
    await row.getByText(`${shadow?.inView} in view, 0 recalled, ${shadow?.missed} missed`).waitFor();
    await card.getByText("Compaction by compaction").click();
    await card.getByText(/^Layer 1: \d+ tokens, \d+ of \d+ names in view, the real one \d+$/).waitFor();
    await expectAccessible(page);

    const narrow = await stage.visit("#health?agent=demo", { width: 375, height: 800, scheme: "dark" });
    await narrow.getByLabel("Session").selectOption(SESSION);
    await narrow.getByRole("heading", { name: "Which summariser would have kept more" }).waitFor();
    await expectAccessible(narrow);
    await expectFits(narrow);
    const shots = process.env["PALIMPSEST_SHOTS"];
    if (shots !== undefined) {
      await mkdir(shots, { recursive: true });
      await page.screenshot({ path: `${shots}/shadows.png`, fullPage: true });
      await narrow.screenshot({ path: `${shots}/shadows-narrow.png`, fullPage: true });
    }
    await stage.settle();
  });
});
