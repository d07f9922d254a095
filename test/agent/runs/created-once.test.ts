/** An instance that the engine has is not created a second time by the same incarnation of the agent (R1). */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Instance, InstanceStatus } from "../../../src/agent/core.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import { newAgent } from "../../agents.ts";
import { talk } from "../../conversation.ts";

test("looks at a run that is about to begin create its instance once, and again only when the engine lost it", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (object) => {
    const { platform, dispatcher } = object.palimpsest;
    const created: string[] = [];
    const open: Instance = {
      status: async () => ({ status }),
      nudge: async () => undefined,
      pause: async () => undefined,
      restart: async () => undefined,
      resume: async () => undefined,
      terminate: async () => undefined,
    };
    let status: InstanceStatus = "queued";
    platform.createInstance = async (run) => (created.push(run.id), "created");
    platform.instance = async () => open;
    const session = Session.create(object).forSession("once").compactAfter(2_000);
    for (const message of talk(0, 30)) await session.appendMessage(message);
    const [runId = ""] = (await session.status()).liveRunIds;
    while (created.length === 0) await scheduler.wait(1);
    await dispatcher.watch();
    await dispatcher.watch();
    expect(created).toEqual([runId]);
    status = "missing";
    await dispatcher.watch();
    await dispatcher.watch();
    expect(created).toEqual([runId, runId]);
    await dispatcher.cancel(runId);
  });
});
