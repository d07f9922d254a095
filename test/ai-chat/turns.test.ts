/** AIChatAgent with compaction: what the model sees, and what the person sees. */
import { evictDurableObject } from "cloudflare:test";
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
