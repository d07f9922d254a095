/** A handle of a session that is pointed to another session while one of its calls is at work. */
import { runInDurableObject } from "cloudflare:test";
import { streamText } from "ai";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { keepTurn } from "../../../src/turn/turn.ts";
import { newAgent } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import type { FullSession } from "../../rooms.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { looker } from "../looker.ts";

const FIRST = "first!900000";

/** Calls that write once they have read, with what the named session has afterwards. */
const CALLS: Record<string, readonly [(session: FullSession) => Promise<unknown>, (session: FullSession) => unknown]> =
  {
    addCompaction: [
      (session) => session.addCompaction("Of the first session.", "m1", "m9"),
      async (session) => (await session.getCompactions()).map(({ summary }) => summary),
    ],
    importTranscript: [
      // So long that the import lets others in.
      (session) =>
        session.importTranscript(
          Array.from({ length: 400 }, (_, n) =>
            JSON.stringify(say(n + 100, "Of the first session. ".repeat(200))),
          ).join("\n"),
        ),
      (session) => session.getPathLength(),
    ],
    updateNotes: [
      (session) =>
        session.updateNotes({
          sections: [{ title: "Task", text: "Of the first session." }],
          basedOn: 0,
          coveredId: "m9",
        }),
      (session) => session.getNotes(),
    ],
  };

test.each(Object.keys(CALLS))("S1: %s writes to the session that the handle named when it was called", async (name) => {
  const [call, read] = CALLS[name] ?? [];
  const { agent, stub } = newAgent();
  await agent.appendAll({ sessionId: FIRST, messages: talk(0, 20) });
  const { id: fork } = await agent.forkSession({ sessionId: FIRST, atMessageId: "m19" });
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const of = (id: string): FullSession => Session.create(instance).forSession(id);
    const before = { first: await read?.(of(FIRST)), fork: await read?.(of(fork)) };
    const session = of(FIRST);
    const calling = call?.(session);
    session.forSession(fork);
    await calling;
    expect(await read?.(of(FIRST))).not.toEqual(before.first);
    expect(await read?.(of(fork))).toEqual(before.fork);
  });
});

/** Two sessions with the same messages, and a handle that is pointed from the first to the second while the work is under way. */
async function pointElsewhere(
  work: (session: FullSession, point: () => void) => Promise<void>,
  look: (session: FullSession) => unknown,
) {
  const { agent, stub } = newAgent();
  await agent.appendAll({ sessionId: FIRST, messages: [...talk(0, 3), { id: "reply", role: "assistant", parts: [] }] });
  const { id: fork } = await agent.forkSession({ sessionId: FIRST, atMessageId: "reply" });
  return runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const of = (id: string): FullSession =>
      Session.create(instance).forSession(id).withContext("memory", { description: "What is known.", maxTokens: 500 });
    await of(fork).getHistory();
    const session = of(FIRST);
    await work(session, () => void session.forSession(fork));
    return { first: await look(of(FIRST)), fork: await look(of(fork)) };
  });
}

test("S1: a turn is stored in the session in which it began", async () => {
  const found = await pointElsewhere(
    async (session, point) => {
      const turn = keepTurn(session, { replyId: "reply" });
      const prompt = await turn.prepareStep();
      point();
      await streamText({ model: looker(0), ...prompt, ...turn }).consumeStream();
      turn.mustBeKept();
    },
    async (session) => (await session.getMessage("reply"))?.parts.length,
  );
  expect(found.first).toBeGreaterThan(0);
  expect(found.fork).toBe(0);
});

test("S1: tools act on the session that the handle named when they were made", async () => {
  const found = await pointElsewhere(
    async (session, point) => {
      const { set_context: set } = await session.tools();
      point();
      await set?.execute?.({ label: "memory", content: "Written by the first." } as never, {} as never);
    },
    async (session) => JSON.stringify(await session.getContextBlock("memory")),
  );
  expect(found.first).toContain("Written by the first.");
  expect(found.fork).not.toContain("Written by the first.");
});
