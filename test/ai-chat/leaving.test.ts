/** Leaving AIChatAgent and agents/sessions: what was said stays in the host's own store, whole, once our tables are gone. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";
import { dropPalimpsest, intoSdk } from "../leaving.ts";
import { scriptModel, summaryOf } from "../scripted-model.ts";
import { ended, inside, messagesOf, newChat, until, user } from "./chat.ts";

skipRetryDelays();

const TOLD = "What was said is told here.";

test("AIChatAgent: the conversation is as it was, in the object and for a client", async () => {
  const { name, stub } = newChat();
  await inside(name, async (agent) => agent.persistMessages(talk(0, 40)));
  expect((await ended(name))[0]?.outcome?.kind).toBe("applied");
  const before = await messagesOf(name);
  expect(before).toEqual(talk(0, 40));
  await evictDurableObject(stub);
  await runInDurableObject(stub, async (agent, { storage }) => {
    dropPalimpsest(storage.sql);
    expect(await agent.sessions.session().getHistory()).toEqual(talk(0, 40));
    expect(await agent.sessions.session().getCompactions()).toEqual([]);
  });
  await evictDurableObject(stub);
  expect(await messagesOf(name)).toEqual(before);
});

test("agents/sessions: messages and summaries stand in the SDK's own store", async () => {
  const name = `keeper-leaves`;
  scriptModel(name, (prompt) => summaryOf(prompt, TOLD));
  const stub = env.Keeper.get(env.Keeper.idFromName(name));
  await runInDurableObject(stub, async ({ store }) => {
    for (const message of talk(0, 30)) await store.session().appendMessage(message);
  });
  await until(() => runInDurableObject(stub, ({ told }) => (told.length > 0 ? told : undefined)));
  await evictDurableObject(stub);
  await runInDurableObject(stub, async ({ store }, { storage }) => {
    dropPalimpsest(storage.sql);
    expect(await store.session().getHistoryRowStats()).toHaveLength(30);
    expect(await store.session().getCompactions()).toHaveLength(1);
    expect(JSON.stringify(await store.session().getHistory())).toContain(TOLD);
  });
});

test("ThinkHarness: the conversation is as it was, in the harness's own store", async () => {
  const name = "harness-leaves";
  scriptModel(name, (prompt) => summaryOf(prompt, TOLD));
  const stub = env.Harnessed.get(env.Harnessed.idFromName(name));
  const shown = () => runInDurableObject(stub, ({ harness }) => harness.session("").messages());
  await runInDurableObject(stub, async ({ harness }) => {
    for (let n = 0; n < 12; n++) await harness.session("").prompt(user(`u${n}`));
  });
  await until(() =>
    runInDurableObject(stub, ({ palimpsest }) =>
      palimpsest.runs.list("", { limit: 5 }).some(({ outcome }) => outcome?.kind === "applied") ? true : undefined,
    ),
  );
  const before = await shown();
  expect(before).toHaveLength(24);
  await evictDurableObject(stub);
  await runInDurableObject(stub, (_agent, { storage }) => dropPalimpsest(storage.sql));
  await evictDurableObject(stub);
  expect(await shown()).toEqual(before);
  expect(JSON.stringify(before)).not.toContain(TOLD);
});

test("plain agent: the active branch and what a model sees of it go into a session of the SDK's", async () => {
  const name = "leaves-for-the-sdk";
  scriptModel(name, (prompt) => summaryOf(prompt, TOLD));
  const stub = env.RoomyChat.get(env.RoomyChat.idFromName(name));
  await runInDurableObject(stub, async (agent) => {
    const ours = agent.palimpsest.session("own");
    await ours.appendAll(talk(0, 12));
    await ours.addCompaction(`${TOLD} Of files.`, "m1", "m6");
    const theirs = agent.sessions.session("theirs");
    await intoSdk(ours, theirs);
    expect((await theirs.getHistoryRowStats()).map(({ id }) => id)).toEqual(talk(0, 12).map(({ id }) => id));
    const shown = (await theirs.getHistory()) as UIMessage[];
    expect(JSON.stringify(shown)).toContain(TOLD);
    expect(shown.filter(({ id }) => id.startsWith("m")).map(({ id }) => id)).toEqual([
      "m0",
      "m7",
      "m8",
      "m9",
      "m10",
      "m11",
    ]);
  });
});
