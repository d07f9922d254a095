/** A handle of a session that is pointed to another session while one of its calls is at work. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { newAgent } from "../../agents.ts";
import { talk } from "../../conversation.ts";
import type { PalimpsestAgent } from "../../worker.ts";

test("S1: a summary is added to the session that the handle named when it was called", async () => {
  const { agent, stub } = newAgent();
  const first = "first!100000";
  await agent.appendAll({ sessionId: first, messages: talk(0, 20) });
  const fork = await agent.forkSession({ sessionId: first, atMessageId: "m19" });
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance).forSession(first);
    const adding = session.addCompaction("Of the first session.", "m1", "m9");
    await session.forSession(fork.id).getHistory();
    await adding;
  });
  expect(await agent.getCompactions({ sessionId: first })).toHaveLength(1);
  expect(await agent.getCompactions({ sessionId: fork.id })).toHaveLength(0);
});
