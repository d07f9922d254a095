/** Leaving Think: what was said stays in its own store, whole, once our tables are gone. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { dropPalimpsest } from "../leaving.ts";
import { ended, messagesOf, newThinker, talkUntilCompacted } from "./thinker.ts";

skipRetryDelays();

test("Think: the conversation is as it was, in the object and for a client", async () => {
  const { name, stub } = newThinker();
  await talkUntilCompacted(name);
  expect((await ended(name))[0]?.outcome?.kind).toBe("applied");
  const before = await messagesOf(name);
  await evictDurableObject(stub);
  await runInDurableObject(stub, (_agent, { storage }) => dropPalimpsest(storage.sql));
  await evictDurableObject(stub);
  expect(await messagesOf(name)).toEqual(before);
});
