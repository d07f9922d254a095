/** Tests of what a person reads and where their messages go, on another branch and from a search result. */
import { expect, test } from "vitest";
import { talk, type Stage } from "./stage.ts";

export function branchTests(stageOf: () => Stage): void {
  test("what is said on another branch goes on it, is seen, and is followed; a run asked for there is of that branch (M1)", async () => {
    const stage = stageOf();
    const say = (id: string, text: string, parentId?: string) =>
      stage.call("append", {
        sessionId: "fork",
        message: { id, role: "user", parts: [{ type: "text", text }] },
        ...(parentId !== undefined && { parentId }),
      });
    await say("r", "The root.");
    await say("a1", "Branch A begins.");
    await say("b1", "Branch B begins.", "r");
    const page = await stage.visit("#session?agent=demo&id=fork");
    await page.getByRole("region", { name: "Branches" }).getByRole("link", { name: "Branch A begins." }).click();
    const log = page.getByRole("log");
    await log.getByText("Branch A begins.").waitFor();
    for (const text of ["First words.", "Second words."]) {
      await page.getByLabel("Say something").fill(text);
      await page.getByLabel("Say something").press("Enter");
      await log.getByText(text).waitFor();
    }
    // Messages of others appear too, because a branch is read to its end.
    await say("b2", "Elsewhere again.", "b1");
    await say("a4", "From somebody else.", (await stage.call("findLeaf", { sessionId: "fork", id: "a1" })) as string);
    await log.getByText("From somebody else.").waitFor();
    await stage.call("append", {
      sessionId: "fork",
      message: { id: "b3", role: "user", parts: [{ type: "text", text: "Now B is active." }] },
      parentId: "b2",
    });
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await page
      .getByText(/Nothing to do|Run 1/)
      .first()
      .waitFor();
    const path = (await stage.call("getHistory", { sessionId: "fork", leafId: "a4" })) as {
      parts: [{ text: string }];
    }[];
    expect(path.map(({ parts }) => parts[0].text)).toEqual([
      "The root.",
      "Branch A begins.",
      "First words.",
      "Second words.",
      "From somebody else.",
    ]);
    const [run] = (await stage.call("runs", { sessionId: "fork" })) as { leafId: string }[];
    expect(run?.leafId).toBe("a4");
  });

  test("what was found is shown where it stands, also under a layer; saying something there cuts nothing off (M1)", async () => {
    const stage = stageOf();
    await stage.seed("found", talk(0, 20));
    const [run] = (await stage.call("runs", { sessionId: "found" })) as { id: string }[];
    await stage.call("waitForRun", { runId: run?.id });
    await stage.call("append", {
      sessionId: "found",
      message: { id: "end", role: "user", parts: [{ type: "text", text: "The very end." }] },
    });
    const page = await stage.visit('#sessions?agent=demo&query="promise number 7"');
    const hit = page.locator(".hits a[href*='id=found']");
    await hit.first().click();
    const found = page.locator(".rows > [aria-current]");
    await found.getByText("Step 7:").first().waitFor();
    await found.first().scrollIntoViewIfNeeded();
    const log = page.getByRole("log");
    const [frame, box] = [await log.boundingBox(), await found.boundingBox()];
    expect(box?.y).toBeGreaterThan((frame?.y ?? 0) - (box?.height ?? 0));
    expect(box?.y).toBeLessThan((frame?.y ?? 0) + (frame?.height ?? 0));
    await page.getByLabel("Say something").fill("Said after a search.");
    await page.getByLabel("Say something").press("Enter");
    await log.getByText("Said after a search.").waitFor();
    await log.getByText("The very end.").waitFor();
    expect(await stage.call("getPathLength", { sessionId: "found" })).toBe(22);
    expect(await stage.call("getBranches", { sessionId: "found", id: "m7" })).toHaveLength(1);
  });
}
