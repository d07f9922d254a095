/** AIChatAgent with compaction, as the model sees it and as the person sees it. */
import { evictDurableObject } from "cloudflare:test";
import type { ModelMessage } from "ai";
import { expect, test } from "vitest";
import { connect, ended, inside, messagesOf, newChat, skipRetryDelays, talkUntilCompacted, user } from "./chat.ts";

skipRetryDelays();

test("the model is sent the summary and the recent messages; the person sees everything, before and after eviction", async () => {
  const { name, part, stub } = newChat();
  const seen = await talkUntilCompacted(name);
  const [run] = await ended(name);
  expect(run?.outcome).toMatchObject({ kind: "applied" });
  const person = await connect(name);
  const whole = await person.say(user("last", "And now?"));
  expect(whole.slice(0, seen.length)).toEqual(seen);
  expect(whole).toHaveLength(seen.length + 2);
  const prompt = JSON.stringify(part.prompts.at(-1));
  expect(prompt).toContain("What was said is told here.");
  expect(prompt).not.toContain("Please look at u4.");
  expect(prompt).toContain("And now?");
  expect(await inside(name, (agent) => agent.messages)).toEqual(whole);
  await evictDurableObject(stub);
  expect(await messagesOf(name)).toEqual(whole);
  expect(await inside(name, (agent) => agent.messages)).toEqual(whole);
  const again = await connect(name);
  await again.say(user("later", "And after a sleep?"));
  expect(JSON.stringify(part.prompts.at(-1))).toContain("What was said is told here.");
  expect(JSON.stringify(part.prompts.at(-1))).not.toContain("Please look at u4.");
});

test("version 6 of the AI SDK says less of a step: what the turn has brought is in the next prompt all the same", async () => {
  const { name } = newChat("idle");
  const person = await connect(name);
  await person.say(user("u0"));
  await inside(name, async (agent) => {
    const turn = await agent.compacted();
    const call = { type: "tool-call", toolCallId: "look-1", toolName: "look", input: { n: 1 } } as const;
    const result = { ...call, type: "tool-result", output: { type: "text", value: "Entry 1." } } as const;
    const brought: ModelMessage[] = [
      { role: "assistant", content: [call] },
      { role: "tool", content: [result] },
    ];
    const steps = [{ response: { messages: brought } }];
    const behind = await turn.prepareStep({ messages: [...turn.messages, ...brought], steps });
    expect(behind.messages?.slice(-2)).toEqual(brought);
    expect(behind.messages).toHaveLength(turn.messages.length + 2);
    const replaced = await turn.prepareStep({ messages: [{ role: "user", content: "Other." }, ...brought], steps });
    expect(replaced.messages?.slice(-2)).toEqual(brought);
  });
});
