/**
 * The duties of every store of messages towards a session. They are tested on our own store, and on a host that keeps messages in
 * `agents/sessions`.
 */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import type { Session } from "../../src/agent/sessions/session.ts";
import { buildWorkingContext } from "../../src/events/context.ts";
import { viewEvents } from "../../src/events/log.ts";
import type { RecallMethods } from "../../src/recall/room.ts";
import { inside, newChat } from "../ai-chat/chat.ts";
import type { Chat } from "../ai-chat/worker.ts";
import { say, talk } from "../conversation.ts";
import { scriptEmbedder } from "../embeddings/scripted-embedder.ts";

/** A conversation, written through the store's own calls. */
interface Kept {
  readonly session: Session & RecallMethods;
  append(message: UIMessage, parentId?: string | null): Promise<unknown>;
  update(message: UIMessage): Promise<unknown>;
  remove(...ids: string[]): Promise<unknown>;
  clear(): Promise<unknown>;
}

const PLACES: Readonly<Record<string, (agent: Chat) => Kept>> = {
  "our own store": (agent) => {
    const session = agent.palimpsest.session("own");
    return {
      session,
      append: (message, parentId) => session.appendMessage(message, parentId),
      update: (message) => session.updateMessage(message),
      remove: (...ids) => session.deleteMessages(ids),
      clear: () => session.clearMessages(),
    };
  },
  "agents/sessions": (agent) => {
    const host = agent.sessions.session();
    return {
      session: agent.palimpsest.session(),
      append: (message, parentId) => host.appendMessage(message, parentId === undefined ? {} : { parentId }),
      update: (message) => host.updateMessage(message),
      remove: (...ids) => host.deleteMessages(ids),
      clear: () => host.clearMessages(),
    };
  },
};

const ids = (messages: readonly UIMessage[]): string[] => messages.map(({ id }) => id);

async function contextIn({ session }: Kept, { palimpsest }: Chat): Promise<UIMessage[]> {
  const { id } = session;
  return buildWorkingContext(await palimpsest.read(id, () => viewEvents(palimpsest.memory, id))).messages;
}

/** A message of three steps, each a tool call and a word. */
function stepped(id: string, steps: number, words = ""): UIMessage {
  const parts = Array.from({ length: steps }, (_, n): UIMessage["parts"] => [
    { type: "step-start" },
    {
      type: "dynamic-tool",
      toolName: "look",
      toolCallId: `${id}-${n}`,
      state: "output-available",
      input: {},
      output: `${words}${"entry ".repeat(60)}`,
    },
    { type: "text", text: `Step ${n} is done. ${"It was long. ".repeat(20)}` },
  ]);
  return { id, role: "assistant", parts: parts.flat() };
}

describe.each(Object.entries(PLACES))("%s", (_place, open) => {
  const kept = async <T>(name: string, work: (place: Kept, agent: Chat) => Promise<T>): Promise<T> =>
    inside(name, (agent) => work(open(agent), agent));

  test("M1: what is appended is read again, word for word, warm and cold", async () => {
    const { name, stub } = newChat();
    const said = [...talk(0, 6), stepped("steps", 3)];
    await kept(name, async (place) => {
      for (const message of said) await place.append(message);
      expect((await place.session.getView({ apart: true })).messages).toEqual(said);
    });
    await evictDurableObject(stub);
    await kept(name, async ({ session }) => {
      expect((await session.getView({ apart: true })).messages).toEqual(said);
      expect(await session.getMessage("m3")).toEqual(say(3));
      expect(await session.getLatestLeaf()).toEqual(said.at(-1));
      expect(await session.getRecentHistory(1)).toMatchObject({ messages: [said.at(-1)], truncated: true });
    });
  });

  test("a working context is what was appended, warm and cold, and a summary hides its messages", async () => {
    const { name, stub } = newChat();
    const said = [...talk(0, 6), stepped("steps", 3)];
    await kept(name, async (place, agent) => {
      for (const message of said) await place.append(message);
      expect(await contextIn(place, agent)).toEqual(said);
    });
    await evictDurableObject(stub);
    await kept(name, async (place, agent) => {
      expect(await contextIn(place, agent)).toEqual(said);
      await place.session.addCompaction("They spoke of files.", "m1", "m4");
      expect(ids((await contextIn(place, agent)).filter((message) => message.id.startsWith("m")))).toEqual([
        "m0",
        "m5",
      ]);
    });
  });

  test("messages form a tree: a parent of the caller's choice, a new root, a branch that is read by its leaf", async () => {
    const { name } = newChat();
    await kept(name, async (place) => {
      for (const message of talk(0, 4)) await place.append(message);
      await place.append(say(10), "m1");
      await place.append(say(11));
      expect(ids((await place.session.getView({ apart: true })).messages)).toEqual(["m0", "m1", "m10", "m11"]);
      expect(ids((await place.session.getView({ leafId: "m3", apart: true })).messages)).toEqual([
        "m0",
        "m1",
        "m2",
        "m3",
      ]);
      expect(ids(await place.session.getBranches("m1"))).toEqual(["m2", "m10"]);
      await place.append(say(20), null);
      expect(ids((await place.session.getView({ apart: true })).messages)).toEqual(["m20"]);
      expect(await place.session.getPathLength("m11")).toBe(4);
    });
  });

  test("V1, C3: a summary hides its messages and nothing else, and gives way to an edit under it", async () => {
    const { name } = newChat();
    await kept(name, async (place) => {
      for (const message of talk(0, 8)) await place.append(message);
      const overlay = await place.session.addCompaction("They spoke of files.", "m1", "m4");
      expect(ids((await place.session.getView({ apart: true })).messages).slice(-3)).toEqual(["m5", "m6", "m7"]);
      expect(ids(await place.session.expand(overlay.id))).toEqual(["m1", "m2", "m3", "m4"]);
      await place.update(say(7, "Later: "));
      expect((await place.session.getCompactions())[0]?.state).toBe("active");
      await place.update(say(2, "Edited: "));
      expect((await place.session.getCompactions())[0]?.state).toBe("invalidated");
      expect(ids((await place.session.getView({ apart: true })).messages)).toEqual(ids(talk(0, 8)));
      expect((await place.session.getView({ apart: true })).messages[2]).toEqual(say(2, "Edited: "));
    });
  });

  test("C3: a summary over some steps of a message stays while others are added, and goes when they change", async () => {
    const { name } = newChat();
    await kept(name, async (place, { palimpsest }) => {
      for (const message of talk(0, 3)) await place.append(message);
      await place.append(stepped("steps", 3));
      const history = palimpsest.memory.session(place.session.id);
      const span = { fromId: "m1", fromStep: 0, toId: "steps", toStep: 1 };
      expect(history.overlays.add({ span, summary: "Two steps were taken." }).kind).toBe("applied");
      await place.update(stepped("steps", 4));
      expect((await place.session.getCompactions())[0]?.state).toBe("active");
      const [, , last] = (await place.session.getView({ apart: true })).messages;
      expect(JSON.stringify(last)).toContain("Step 3 is done");
      expect(JSON.stringify(last)).not.toContain("Step 1 is done");
      await place.update(stepped("steps", 4, "other "));
      expect((await place.session.getCompactions())[0]?.state).toBe("invalidated");
    });
  });

  test("a delete takes the message out of the path, and a summary over it out of force", async () => {
    const { name } = newChat();
    await kept(name, async (place) => {
      for (const message of talk(0, 8)) await place.append(message);
      await place.session.addCompaction("They spoke of files.", "m1", "m4");
      await place.remove("m6");
      expect((await place.session.getCompactions())[0]?.state).toBe("active");
      await place.remove("m2", "m7");
      expect((await place.session.getCompactions())[0]?.state).toBe("invalidated");
      expect(ids((await place.session.getView({ apart: true })).messages)).toEqual(["m0", "m1", "m3", "m4", "m5"]);
      await place.append(say(30));
      expect(ids((await place.session.getView({ apart: true })).messages)).toEqual([
        "m0",
        "m1",
        "m3",
        "m4",
        "m5",
        "m30",
      ]);
    });
  });

  test("S2: after a clear nothing is left, and the conversation begins again", async () => {
    const { name } = newChat();
    await kept(name, async (place) => {
      for (const message of talk(0, 8)) await place.append(message);
      await place.session.addCompaction("They spoke of files.", "m1", "m4");
      expect(await place.session.search("parser")).not.toEqual([]);
      await place.clear();
      expect(await place.session.getCompactions()).toEqual([]);
      expect((await place.session.getView({ apart: true })).messages).toEqual([]);
      expect(await place.session.search("parser")).toEqual([]);
      await place.append(say(1));
      expect((await place.session.getView({ apart: true })).messages).toEqual([say(1)]);
    });
  });

  test("search and recall find what a summary hides, also what is edited", async () => {
    const { name } = newChat();
    await kept(name, async (place) => {
      for (const message of talk(0, 8)) await place.append(message);
      await place.session.addCompaction("They spoke of files.", "m1", "m4");
      expect((await place.session.search("scheduler")).map(({ id }) => id)).toEqual(
        expect.arrayContaining(["m1", "m7"]),
      );
      await place.update(say(6, "quokka "));
      expect((await place.session.search("quokka")).map(({ id }) => id)).toEqual(["m6"]);
      const recalled = await place.session.recall({ query: "scheduler" });
      expect(recalled.kind === "found" && recalled.messages.map(({ id }) => id)).toContain("m1");
    });
  });

  test("S2: recall finds by meaning what a summary hides, and forgets it with the message", async () => {
    const script = scriptEmbedder();
    const { name } = newChat();
    await kept(name, async (place, { palimpsest }) => {
      const text = "Bob bought a red sedan.";
      for (const message of talk(0, 3)) await place.append(message);
      await place.append({ id: "sedan", role: "user", parts: [{ type: "text", text }] });
      for (const message of talk(3, 40)) await place.append(message);
      await place.session.addCompaction("They spoke of files.", "m1", "m35");
      const found = await place.session.recall({ query: "Which automobile?" });
      expect(found.byMeaning).toEqual({ kind: "searched", waiting: 0 });
      expect(found.text).toContain(text);
      await place.remove("sedan");
      expect(palimpsest.db.run("SELECT page FROM palimpsest_embeddings")).toEqual([]);
      await place.session.addCompaction("They spoke of files again.", "m1", "m35");
      script.calls.length = 0;
      expect((await place.session.recall({ query: "Which automobile?" })).text).not.toContain("sedan");
      expect(JSON.stringify(script.calls)).not.toContain("sedan");
    });
  });

  test("an append writes one row, and no content that another place keeps", async () => {
    const { name } = newChat();
    await kept(name, async (place, agent) => {
      const { db } = agent.palimpsest;
      for (const message of talk(0, 3)) await place.append(message);
      const before = db.meter.rowsWritten;
      await place.append(say(3));
      expect(db.meter.rowsWritten - before).toBe(1);
      const [row] = agent.sql<{ kept: number }>`SELECT count(*) AS kept FROM palimpsest_messages WHERE content <> ''`;
      expect(row?.kept).toBe(place.session.id === "own" ? 4 : 0);
    });
  });
});

test("only a host changes the messages that it keeps: our own writes, forks and splits say so", async () => {
  const { name } = newChat();
  await inside(name, async ({ palimpsest, sessions }) => {
    for (const message of talk(0, 3)) await sessions.session().appendMessage(message);
    const session = palimpsest.session();
    const refused = /host_owns_messages.*AIChatAgent/;
    await expect(session.appendMessage(say(3))).rejects.toThrow(refused);
    await expect(session.updateMessage(say(1, "x"))).rejects.toThrow(refused);
    await expect(session.deleteMessages(["m1"])).rejects.toThrow(refused);
    await expect(session.clearMessages()).rejects.toThrow(refused);
    expect((await session.getView({ apart: true })).messages).toEqual(talk(0, 3));
  });
  expect(env.Chat).toBeDefined();
});
