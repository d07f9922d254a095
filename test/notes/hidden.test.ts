/** Notes beside summaries that hide the covered messages. Covered messages are neither counted nor read again (R4). */
import { Session } from "../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../noted.ts";
import { openGates } from "../scripted-model.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { keptNotes, type PalimpsestAgent } from "../worker.ts";

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

test("an update reads an earlier summary as the view shows it, without a state of things that no longer holds", async () => {
  const { agent, stub, calls } = newAgent(noting);
  const sessionId = "wide";
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    keptNotes.set(`${instance.name}/${sessionId}`, {});
    const session = Session.create(instance).forSession(sessionId);
    await session.appendAll(talk(0, 10));
    const history = instance.palimpsest.memory.session(sessionId);
    for (const [from, to] of [
      [0, 3],
      [4, 7],
    ] as const) {
      const summary = `## Goal\nThe goal up to ${to}.\n\n## State\n${`The state at ${to}. `.repeat(40)}`;
      const span = { fromId: `m${from}`, fromStep: 0, toId: `m${to}`, toStep: WHOLE_MESSAGE };
      history.overlays.add({ span, summary, details: { draftKey: `draft-${to}` } });
    }
  });
  const { run } = await agent.refreshNotes({ sessionId });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "noted", coveredId: "m9" } });
  const shown = calls.at(-1)?.transcript ?? "";
  for (const text of ["goal up to 3", "goal up to 7", "state at 7", "number 8", "number 9"])
    expect(shown).toContain(text);
  expect(shown).not.toContain("state at 3");
});
