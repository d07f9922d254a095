/** A deploy that takes the room out. What waits for a person is not committed (C1). */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { addApproval } from "../../src/workflows/approval.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

async function untilEngine(runId: string, states: readonly string[]): Promise<void> {
  while (!states.includes((await (await env.COMPACTION_WORKFLOW.get(runId)).status()).status)) await scheduler.wait(1);
}

test("a deploy without the room commits nothing that waits for a person", async () => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await runInDurableObject(stub, (own: PalimpsestAgent) => {
    Session.create(own).compactAfter(2_000).requireApproval();
  });
  const { id: runId } = await startRun(agent);
  while ((await agent.getRun({ runId })).state !== "waiting") await scheduler.wait(1);
  await agent.pauseRun({ runId });
  await untilEngine(runId, ["paused"]);

  // The new code has the room neither in the agent nor in the Workflow. Instances of this file are the last that wait for a person.
  await runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) => {
    const { settings, rooms } = palimpsest;
    const get = settings.get.bind(settings);
    Object.assign(rooms, { askApproval: undefined });
    Object.assign(settings, { get: (id: string) => ({ ...get(id), approval: null }) });
  });
  addApproval(null as never);
  await agent.resumeRun({ runId });
  await untilEngine(runId, ["errored", "complete"]);
  await runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) => {
    Object.assign(palimpsest.platform, { now: () => Date.now() + 20_000 });
    return palimpsest.dispatcher.watch();
  });
  expect((await agent.waitForRun({ runId })).outcome).toMatchObject({ kind: "nothing", reason: "declined" });
  expect(await agent.getCompactions({})).toEqual([]);
});
