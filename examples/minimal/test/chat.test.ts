import { introspectWorkflow, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { fakeClock, finishRuns, scriptModel, summaryOf } from "palimpsest/testing";
import { beforeAll, expect, test } from "vitest";

const agents = env.ChatAgent;
const text = "We agreed to keep the ledger in one table, and to name a run after its session. ".repeat(200);

// The Workflows engine waits between tries of a step, in real time.
beforeAll(async () => {
  const engine = await introspectWorkflow(env.COMPACTION_WORKFLOW);
  await engine.modifyAll((run) => run.disableRetryDelays());
});

test("a long conversation is summarised, and nothing that was said is lost", async () => {
  const asked = scriptModel("room", (request) => summaryOf(request, "They agreed on one table."));
  const chat = agents.get(agents.idFromName("room"));
  await runInDurableObject(chat, async (agent) => {
    for (let n = 0; n < 20; n++) await agent.say(`${n}: ${text}`);
    const [run] = await finishRuns(agent);
    expect(run?.outcome).toMatchObject({ kind: "applied" });
    expect(asked.length).toBeGreaterThan(0);
    const { messages } = await agent.session.getView();
    expect(JSON.stringify(messages)).toContain("They agreed on one table.");
    expect(await agent.session.getPathLength()).toBe(20);
  });
});

test("while the summariser is down the conversation goes on, and an hour later it is asked again", async () => {
  scriptModel("outage", () => {
    throw new Error("The model is down.");
  });
  const chat = agents.get(agents.idFromName("outage"));
  await runInDurableObject(chat, async (agent) => {
    for (let n = 0; n < 20; n++) await agent.say(`${n}: ${text}`);
    const [failed] = await finishRuns(agent);
    expect(failed?.outcome).toMatchObject({ kind: "applied", degraded: true });
    const clock = fakeClock(agent);
    await clock.advance(3_600_000);
    const asked = scriptModel("outage", (request) => summaryOf(request, "They agreed on one table."));
    for (let n = 20; n < 40; n++) await agent.say(`${n}: ${text}`);
    const [run] = await finishRuns(agent);
    expect(run?.outcome).toMatchObject({ kind: "applied" });
    expect(asked.length).toBeGreaterThan(0);
  });
});
