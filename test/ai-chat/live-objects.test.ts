/** Callers that change the messages they were given. The host works on with its own (M1). */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { connect, ended, inside, newChat, user } from "./chat.ts";

skipRetryDelays();

/** What the room adds to a session, as far as it is used here. */
interface Own {
  onCompaction(
    compact: (messages: { id: string; parts: { type: string; text?: string }[] }[]) => {
      summary: string;
      fromMessageId: string;
      toMessageId: string;
    },
  ): Own;
  apply(): void;
  compact(): Promise<unknown>;
}

test("M1: a function that shortens the messages that it was given leaves the host's as they are", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  for (let n = 0; n < 8; n++) await person.say(user(`u${n}`));
  const before = await inside(name, (agent) => JSON.stringify(agent.messages));
  await inside(name, async (agent) => {
    const session = agent.palimpsest.session().compactAfter(1_000_000) as never as Own;
    session.onCompaction((messages) => {
      for (const part of messages.flatMap(({ parts }) => parts)) {
        if (part.type === "text") part.text = (part.text ?? "").slice(0, 10);
      }
      return { summary: "Summed up.", fromMessageId: messages[0]?.id ?? "", toMessageId: messages[5]?.id ?? "" };
    });
    session.apply();
    await session.compact();
  });
  expect((await ended(name))[0]?.outcome?.kind).toBe("applied");
  expect(await inside(name, (agent) => JSON.stringify(agent.messages))).toBe(before);
});

test("M1: whoever changes what a read gave, a view, the history or one message, leaves the host's as they are", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  for (let n = 0; n < 3; n++) await person.say(user(`u${n}`));
  await inside(name, async (agent) => {
    const before = JSON.stringify(agent.messages);
    const session = agent.palimpsest.session();
    const reads: Record<string, () => Promise<readonly (UIMessage | null)[]>> = {
      getView: async () => (await session.getView()).messages,
      getHistory: async () => session.getHistory(),
      getMessage: async () => [await session.getMessage("u1")],
      getLatestLeaf: async () => [await session.getLatestLeaf()],
    };
    for (const [read, messages] of Object.entries(reads)) {
      const given = (await messages()).flatMap((message) => message?.parts ?? []);
      expect(given.length, read).toBeGreaterThan(0);
      for (const part of given) if (part.type === "text") part.text = "Gone.";
      expect(JSON.stringify(agent.messages), read).toBe(before);
    }
  });
});
