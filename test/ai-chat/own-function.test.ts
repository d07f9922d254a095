/** A function of the caller's own that changes the messages it is given. They are a host's live objects. */
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
