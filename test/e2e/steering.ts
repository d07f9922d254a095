/** Tests of steering runs and sessions with the page's buttons. */
import { expect, test } from "vitest";
import { talk, type Stage } from "./stage.ts";

/** For a Worker with a slow model, so that live runs can be interrupted. */
export function steeringTests(stageOf: () => Stage): void {
  test("a run is paused, goes on, is cancelled, and another is started in its place, which is watched to its end (R1)", async () => {
    const stage = stageOf();
    await stage.seed("steered", talk(0, 80));
    const page = await stage.visit("#runs?agent=demo&id=steered");
    await page.getByRole("link", { name: /^Run 1 / }).click();
    const state = page.locator(".run-detail h2 .tag");
    await state.getByText("running").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await state.getByText("paused").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await state.getByText("running").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await state.getByText("cancelled").waitFor();
    expect(await page.getByRole("button", { name: /Pause|Resume|Cancel|Do it again/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator(".run-detail").getByRole("heading", { name: /Run 2/ }).waitFor();
    await state.getByText("applied").waitFor();
    await page.getByRole("link", { name: "The layer" }).waitFor();
  });

  test("a run at work does a step again when a person chooses it, and comes to its end (R1)", async () => {
    const stage = stageOf();
    await stage.seed("again", talk(0, 80));
    const page = await stage.visit("#runs?agent=demo&id=again");
    await page.getByRole("link", { name: /^Run 1 / }).click();
    await page.getByLabel("From the step").selectOption("plan the cut");
    await page.getByRole("button", { name: "Do it again" }).click();
    await page.getByText("Done again from “plan the cut” on").waitFor();
    await page.locator(".run-detail h2 .tag").getByText("applied").waitFor();
    const row = page.getByRole("row", { name: /^plan the cut/ });
    expect(await row.count()).toBe(1);
  });

  test("a session is compacted afresh from its first drafts, and copied up to a message; the first one stays as it was (M1, S1)", async () => {
    const stage = stageOf();
    await stage.seed("told", talk(0, 20));
    const [run] = (await stage.call("runs", { sessionId: "told" })) as { id: string }[];
    await stage.call("waitForRun", { runId: run?.id });
    const page = await stage.visit("#session?agent=demo&id=told");
    await page.getByRole("button", { name: /^Layer 1/ }).waitFor();
    await page.getByRole("button", { name: "Rebuild" }).click();
    await page.getByText("Run 2 has begun.").waitFor();
    await page.getByText(/Run 2 ended: /).click();
    await page.getByText("The summaries are made from their first drafts again.").waitFor();

    await page.goto(`${stage.worker.url}/#session?agent=demo&id=told`);
    const last = page.getByRole("article").filter({ hasText: "Step 19:" });
    await last.getByRole("button", { name: "fork here" }).click();
    await page.waitForURL((url) => /id=(?!told)/.test(url.hash));
    await page.getByText("Step 19:").first().waitFor();
    const fork = new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("id");
    await page.getByLabel("Say something").fill("Only in the copy.");
    await page.getByLabel("Say something").press("Enter");
    await page.getByRole("article").filter({ hasText: "Only in the copy." }).waitFor();
    expect(await stage.call("getPathLength", { sessionId: fork })).toBe(21);
    expect(await stage.call("getPathLength", { sessionId: "told" })).toBe(20);
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByText("↱ fork").first().waitFor();
  });
}
