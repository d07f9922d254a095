/** Messages that the base class keeps, drops and holds in memory, and changes that we miss. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, onTestFinished, test, vi } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";
import { everything } from "../tries.ts";
import { connect, ended, expectEqual, inside, messagesOf, newChat, user } from "./chat.ts";

skipRetryDelays();

/** Stores messages as a client's setMessages does, without a turn. */
async function store(name: string, messages: readonly UIMessage[]): Promise<void> {
  await inside(name, (agent) => agent.persistMessages([...agent.messages, ...messages]));
}

test("a deployment without the Workflow: the chat goes on with the whole conversation, and one line says what to add", async () => {
  const { name, part } = newChat("unbound");
  const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  expect(JSON.stringify(part.prompts.at(-1))).toContain("Please look at u1.");
  expect(await messagesOf(name)).toHaveLength(24);
  expect(said.mock.calls.flat().filter((line) => String(line).includes("COMPACTION_WORKFLOW"))).toHaveLength(1);
});

test("retention: what the base class prunes ends no summary, and is in no view, search or list of originals", async () => {
  const { name, part } = newChat("keeps-20");
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  await ended(name);
  for (let n = 12; n < 16; n++) await person.say(user(`u${n}`, "Short."));
  expect(await messagesOf(name)).toHaveLength(20);
  await inside(name, async ({ palimpsest }) => {
    const session = palimpsest.session();
    const [first] = await session.getCompactions();
    expect(first?.state).toBe("active");
    expect(await session.search("u3")).toEqual([]);
    const beneath = (await session.expand(first?.id ?? "")).map(({ id }) => id);
    expect(beneath).not.toContain("u3");
    expect((await session.getView()).messages.map(({ id }) => id)).not.toContain("u0");
  });
  await person.say(user("more", "And now?"));
  expect(JSON.stringify(part.prompts.at(-1))).toContain("What was said is told here.");
  await expectEqual(name);
});

test("retention of a conversation that is not in memory whole is no edit either", async () => {
  const { name, part, stub } = newChat("keeps-20-narrow");
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  await ended(name);
  await evictDurableObject(stub);
  for (let n = 12; n < 16; n++) await person.say(user(`u${n}`, "Short."));
  await inside(name, async ({ palimpsest, messages, sessions }) => {
    expect(messages.length).toBeLessThan(20);
    expect(await sessions.session().getHistoryRowStats()).toHaveLength(20);
    expect((await palimpsest.session().getCompactions())[0]?.state).toBe("active");
  });
  await person.say(user("more", "And now?"));
  expect(JSON.stringify(part.prompts.at(-1))).toContain("What was said is told here.");
});

test("hydration: messages that are not in memory are read where they are, for views, originals and summaries", async () => {
  const { name, stub } = newChat("narrow");
  await store(name, talk(0, 40));
  await ended(name);
  await evictDurableObject(stub);
  await inside(name, async (agent) => {
    const session = agent.palimpsest.session();
    expect(agent.messages.length).toBeLessThan(20);
    const [overlay] = await session.getCompactions();
    expect(overlay?.state).toBe("active");
    const beneath = await session.expand(overlay?.id ?? "");
    expect(beneath.length).toBeGreaterThan(10);
    expect(talk(0, 40)).toEqual(expect.arrayContaining(beneath));
    expect((await session.getView()).messages.at(-1)).toEqual(talk(39, 40)[0]);
    await session.compact({ rebuild: true });
  });
  await ended(name, 2);
  await expectEqual(name);
  await inside(name, async ({ palimpsest }) => {
    expect((await palimpsest.session().search("parser")).length).toBeGreaterThan(3);
  });
});

test("a listener that failed: the chat goes on, one line says why, and the index catches up by itself", async () => {
  const { name } = newChat();
  const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  await store(name, talk(0, 3));
  await inside(name, async (agent) => {
    const broken = vi.spyOn(agent.palimpsest.memory.session(""), "insertRow").mockImplementationOnce(() => {
      throw new Error("disk on fire");
    });
    await agent.persistMessages([...agent.messages, ...talk(3, 6)]);
    expect(broken).toHaveBeenCalled();
  });
  expect(said.mock.calls.flat().join(" ")).toContain("disk on fire");
  await expectEqual(name);
  expect(await messagesOf(name)).toHaveLength(6);
});

test("a message that cannot be indexed is told on the console, and the chat goes on with the whole conversation", async () => {
  const { name, part } = newChat();
  const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  const person = await connect(name);
  await person.say(user("u0"));
  await inside(name, async ({ sessions }) =>
    sessions.session().appendMessage({ id: "x".repeat(600), role: "user", parts: [{ type: "text", text: "Odd." }] }),
  );
  await person.say(user("u1"));
  expect(JSON.stringify(part.prompts.at(-1))).toContain("Odd.");
  expect(said.mock.calls.flat().join(" ")).toMatch(/invalid_message.*id/);
});

test("messages without an id: the base class decides about them, one line says why, and the chat goes on", async () => {
  const { name, part } = newChat();
  const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  const person = await connect(name);
  await person.say(user("u0"));
  const nameless = { role: "user", parts: [{ type: "text", text: "Nameless." }] } as unknown as UIMessage;
  await inside(name, async ({ sessions }) => sessions.session().appendMessage({ ...nameless, id: "" })).catch(
    () => null,
  );
  await inside(name, async (agent) => agent.persistMessages([...agent.messages, nameless])).catch(() => null);
  await person.say(user("u1"));
  expect(said.mock.calls.flat().join(" ")).toMatch(/goes on without compaction.*invalid_message.*id/);
  expect(JSON.stringify(part.prompts.at(-1))).toContain("Please look at u1.");
});

test("a crash between the base's write and ours, and changes that were missed: the next wake makes the index equal", async () => {
  const { name, stub } = newChat();
  const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  await store(name, talk(0, 10));
  await inside(name, async (agent) => {
    await agent.palimpsest.session().addCompaction("They spoke of files.", "m1", "m4");
    // Nothing of ours is written until the object dies.
    vi.spyOn(agent.palimpsest.db, "transaction").mockImplementation(() => {
      throw new Error("dead");
    });
    const host = agent.sessions.session();
    await host.deleteMessages(["m2"]);
    await host.appendMessage({ id: "late", role: "user", parts: [{ type: "text", text: "Said and not heard." }] });
  });
  await evictDurableObject(stub);
  await expectEqual(name);
  await inside(name, async ({ palimpsest }) => {
    const session = palimpsest.session();
    expect((await session.getCompactions())[0]?.state).toBe("invalidated");
    expect((await session.getView({ apart: true })).messages.map(({ id }) => id)).toEqual([
      "m0",
      "m1",
      ...talk(3, 10).map(({ id }) => id),
      "late",
    ]);
  });
});

test("an edit that was missed is noticed when the message is read, and the summary over it gives way", async () => {
  const { name } = newChat();
  const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  await store(name, talk(0, 10));
  await inside(name, async (agent) => {
    const session = agent.palimpsest.session();
    const overlay = await session.addCompaction("They spoke of files.", "m1", "m4");
    agent.messages = agent.messages.map((message) =>
      message.id === "m2" ? { ...message, parts: [{ type: "text", text: "Other." }] } : message,
    );
    expect((await session.expand(overlay.id)).map(({ id }) => id)).toEqual(["m1", "m2", "m3", "m4"]);
    expect((await session.getCompactions())[0]?.state).toBe("invalidated");
  });
});

test("1,000 messages that were there before are taken in on the first wake, whole and without their content; later wakes read a few rows", async () => {
  const { name, stub } = newChat("idle");
  const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  await inside(name, async (agent) => {
    vi.spyOn(agent.palimpsest.db, "transaction").mockImplementation(() => {
      throw new Error("not installed yet");
    });
    for (const message of talk(0, 1_000)) await agent.sessions.session().appendMessage(message);
  });
  await evictDurableObject(stub);
  await inside(name, async (agent) => {
    await agent.palimpsest.session().status();
    expect(agent.palimpsest.memory.session("").pathLength()).toBe(1_000);
    const [row] = agent.sql<{ kept: number }>`SELECT count(*) AS kept FROM palimpsest_messages WHERE content <> ''`;
    expect(row?.kept).toBe(0);
    expect(agent.palimpsest.db.meter.rowsWritten).toBeLessThan(1_100);
  });
  await evictDurableObject(stub);
  expect(await messagesOf(name)).toHaveLength(1_000);
  await inside(name, async (agent) => {
    expect(agent.palimpsest.db.meter.rowsRead).toBeLessThan(60);
    expect(agent.palimpsest.db.meter.rowsWritten).toBe(0);
  });
});

test("a conversation that has a summary of the SDK's own is read in a few rows at a later wake, and whole", async () => {
  const { name, stub } = newChat("idle");
  await inside(name, async ({ sessions }) => {
    const host = sessions.session();
    for (const message of talk(0, 200)) await host.appendMessage(message);
    await host.addCompaction("The SDK's summary.", talk(0, 1)[0]?.id ?? "", talk(9, 10)[0]?.id ?? "");
  });
  await evictDurableObject(stub);
  expect(await messagesOf(name)).toHaveLength(191);
  await inside(name, async ({ palimpsest }) => {
    expect(palimpsest.db.meter.rowsRead).toBeLessThan(60);
    const { messages } = await palimpsest.session().getView();
    expect(messages).toEqual(talk(0, 200));
  });
});

test(
  "a conversation longer than the SDK reads back loses nothing when a change was missed",
  { timeout: 120_000 },
  async () => {
    const { name, stub } = newChat("idle");
    const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    onTestFinished(() => said.mockRestore());
    const count = 10_100;
    await inside(name, async (agent) => {
      const host = agent.sessions.session();
      for (let n = 0; n < count; n++) await host.appendMessage(user(`n${n}`, `Line ${n}.`));
      await agent.palimpsest.session().addCompaction("The beginning.", "n1", "n50");
      vi.spyOn(agent.palimpsest.db, "transaction").mockImplementation(() => {
        throw new Error("dead");
      });
      await host.appendMessage(user("late", "Said and not heard."));
    });
    await evictDurableObject(stub);
    expect((await messagesOf(name)).length).toBeLessThan(count);
    await inside(name, async ({ palimpsest }) => {
      const session = palimpsest.session();
      expect(await session.getPathLength()).toBe(count + 1);
      expect((await session.getCompactions())[0]?.state).toBe("active");
      expect(await session.getMessage("n3")).toEqual(user("n3", "Line 3."));
    });
  },
);

// Without it, the first wake is tried with 1,000 messages above.
test.runIf(everything)(
  "20,000 messages at the first wake: those that the SDK reads back are taken in, each with one row, and the chat goes on",
  { timeout: 120_000 },
  async () => {
    const { name, part, stub } = newChat("stored");
    const count = 20_000;
    const most = 10_001;
    const said = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    onTestFinished(() => said.mockRestore());
    await runInDurableObject(stub, async (agent, { storage: { sql } }) => {
      vi.spyOn(agent.palimpsest.db, "transaction").mockImplementation(() => {
        throw new Error("not installed yet");
      });
      await agent.sessions.session().appendMessage(user("n0", "Line 0."));
      const content = `json_object('id', 'n' || n, 'role', iif(n % 2, 'assistant', 'user'), 'parts',
        json_array(json_object('type', 'text', 'text', 'Line ' || n || '.')))`;
      sql.exec(`
        WITH RECURSIVE lines(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM lines WHERE n + 1 < ${count})
        INSERT INTO cf_agents_session_messages (session_id, id, seq, parent_id, role, content, token_estimate, created_at)
        SELECT '', 'n' || n, n + 1, 'n' || (n - 1), iif(n % 2, 'assistant', 'user'), ${content}, 20, n FROM lines`);
    });
    await evictDurableObject(stub);
    await inside(name, async ({ palimpsest }) => {
      await palimpsest.session().status();
      expect(palimpsest.memory.session("").pathLength()).toBe(most);
      expect(palimpsest.db.meter.rowsWritten).toBeLessThan(1.1 * most);
      expect(palimpsest.memory.session("").leafId()).toBe(`n${count - 1}`);
    });
    await ended(name);
    const person = await connect(name);
    const shown = await person.say(user("last", "And now?"));
    expect(shown.at(-1)?.role).toBe("assistant");
    const prompt = JSON.stringify(part.prompts.at(-1));
    expect(prompt).toContain("And now?");
    expect(prompt.length).toBeLessThan(100_000);
    const kept = await inside(
      name,
      (agent) => agent.sql<{ kept: number }>`SELECT count(*) AS kept FROM cf_agents_session_messages`,
    );
    expect(kept[0]?.kept).toBe(count + 2);
  },
);
