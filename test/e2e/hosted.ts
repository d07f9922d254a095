/** Tests of the page on an agent whose base class keeps the messages, and opens to the page what it opens to clients. */
import type { Page, WebSocketRoute } from "playwright-core";
import { expect, test } from "vitest";
import { talk, type Stage } from "./stage.ts";

/** Makes the Worker's agent answer as one on AIChatAgent does, which opens to the page no other call than these. */
async function asHosted(page: Page, opened: (method: string) => boolean): Promise<void> {
  await page.routeWebSocket(/\/agents\//, (socket: WebSocketRoute) => {
    const agent = socket.connectToServer();
    socket.onMessage((frame) => {
      const { id, method = "" } = JSON.parse(String(frame)) as { id: string; method?: string };
      if (opened(method)) return agent.send(frame);
      const error = `[not_configured] List it where the agent is declared: clients: ["${method}"].`;
      socket.send(JSON.stringify({ type: "rpc", id, success: false, error }));
    });
    agent.onMessage((frame) => socket.send(String(frame).replace('"isHosted":false', '"isHosted":true')));
  });
}

const WATCHED: ReadonlySet<string> = new Set(["status", "plan", "compact", "runs", "liveRuns", "getRun"]);

export function hostedTests(stageOf: () => Stage): void {
  test("an agent that opens few calls says once which line opens more, and offers nothing that cannot work", async () => {
    const stage = stageOf();
    await stage.seed("closed", talk(0, 4));
    const page = await stage.visit("#session?agent=demo&id=closed", {
      before: (page) => asHosted(page, (method) => WATCHED.has(method)),
    });
    await page.getByText("This agent does not open the conversation to the page.").waitFor();
    await page.getByText("The threshold is", { exact: false }).first().waitFor();
    expect(await page.getByText('clients: ["getView"]').count()).toBe(1);
    for (const text of ["Could not read", "nothing was said", "Begin below"]) {
      expect(await page.getByText(text).count(), text).toBe(0);
    }
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByText('clients: ["listSessions"]').waitFor();
    expect(await page.getByRole("button", { name: "New session" }).count()).toBe(0);
    await page.getByRole("link", { name: "The agent's conversation" }).waitFor();
  });

  test("where the base class keeps the messages, nothing is said, forked, split or renamed on the page", async () => {
    const stage = stageOf();
    await stage.seed("hosted", talk(0, 4));
    const page = await stage.visit("#session?agent=demo&id=hosted", { before: (page) => asHosted(page, () => true) });
    await page.getByText("Step 3:").first().waitFor();
    await page.getByRole("button", { name: "Rebuild" }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Split …" }).count()).toBe(0);
    for (const name of ["fork here", "Send", "rename"]) {
      expect(await page.getByRole("button", { name }).count(), name).toBe(0);
    }
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.locator(".session-row").first().waitFor();
    expect(await page.getByRole("button", { name: "New session" }).count()).toBe(0);
  });
}
