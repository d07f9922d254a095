import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { verbs } from "virtual:verbs";
import { Session } from "../../src/agent/sessions/session.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { newAgent } from "../agents.ts";
import { talk } from "../conversation.ts";
import type { PalimpsestAgent } from "../worker.ts";

test.each(verbs)("the example of a verb runs as it stands: %s", async (_, example) => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const sessions = SessionManager.create(agent);
    const { id } = sessions.create("Tests");
    const session = Session.create(agent).forSession(id).compactAfter(100_000);
    await session.appendAll(talk(0, 20));
    const { id: overlayId } = await session.addCompaction("They spoke of the start.", "m1", "m2");
    const [question, answer] = talk(20, 22);
    if (question === undefined || answer === undefined) throw new Error("The talk is too short.");
    await session.appendAll([question]);
    await example.call(agent, { session, sessions, sessionId: id, overlayId, question, answer });
  });
  expect(verbs.length).toBeGreaterThan(45);
});
