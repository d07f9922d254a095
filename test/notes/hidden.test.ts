/** Notes beside summaries that hide the covered messages. Covered messages are neither counted nor read again (R4). */
import { Session } from "../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../noted.ts";
import { openGates } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

/** A session whose notes cover its newest message, under a summary of everything that would alone be enough for an update. */
async function allHidden(): Promise<ReturnType<typeof newAgent>> {
  const made = newAgent(noting);
  await sayWithNotes(made.agent);
  await made.agent.refreshNotes({ sessionId: SESSION });
  await rest(made.agent);
  await runInDurableObject(made.stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance).forSession(SESSION);
    await session.addCompaction("What was said, at length. ".repeat(100), "m0", "m7");
  });
  return made;
}

test("a summary that hides all that the notes cover makes no update due, nor one after another (R4)", async () => {
  const { agent, calls } = await allHidden();
  const before = calls.length;
  const { run } = await agent.refreshNotes({ sessionId: SESSION });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { reason: "up-to-date" } });
  expect(await agent.status({ sessionId: SESSION })).toMatchObject({ liveRunIds: [] });
  await agent.append({ sessionId: SESSION, message: say(8) });
  expect(await agent.status({ sessionId: SESSION })).toMatchObject({ liveRunIds: [] });
  expect(calls).toHaveLength(before);
});

test("an update reads only what came behind such a summary", async () => {
  const { agent, calls } = await allHidden();
  await sayAll(
    agent,
    [8, 9, 10, 11, 12, 13].map((n) => say(n)),
  );
  const shown = calls.at(-1)?.transcript ?? "";
  expect(ofKind(await rest(agent), "notes")[0]?.outcome?.kind).toBe("noted");
  expect(shown).toContain("Message 8");
  expect(shown).not.toContain("at length");
});
