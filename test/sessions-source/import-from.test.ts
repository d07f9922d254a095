/** Importing conversations of other stores, with branches and summaries, and with the originals under a summary. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import { fromLegacyTables, fromSessions, type StoredConversation } from "../../src/import/index.ts";
import { parentsFirst } from "../../src/import/stores.ts";
import { scriptModel, summaryOf } from "../scripted-model.ts";
import { say, talk } from "../conversation.ts";
import type { RoomyChat } from "../ai-chat/worker.ts";
import written from "./agents-0.20.json" with { type: "json" };

let agents = 0;

async function inNewAgent(work: (agent: RoomyChat) => Promise<void>): Promise<void> {
  const name = `taking-in-${agents++}`;
  scriptModel(name, (prompt) => summaryOf(prompt, "Told."));
  const stub = env.RoomyChat.get(env.RoomyChat.idFromName(name));
  await runInDurableObject(stub, async (agent) => work(agent));
}

/** A line of a file whose message has a time. */
const said = (at: number, createdAt: unknown): string => JSON.stringify({ ...say(at), metadata: { createdAt } });

const ids = (messages: readonly UIMessage[]): string[] => messages.map(({ id }) => id);

/** The session of our own store, beside the one that the base class keeps. */
const own = (agent: RoomyChat) => agent.palimpsest.session("own");

/** Twelve messages on two branches with a summary, in the SDK's own store. */
async function spoken(agent: RoomyChat) {
  const session = agent.sessions.session("theirs");
  for (const message of talk(0, 12)) await session.appendMessage(message);
  await session.appendMessage(say(20), { parentId: "m7" });
  await session.appendMessage(say(21));
  await session.appendMessage(say(12), { parentId: "m11" });
  await session.addCompaction("They spoke of files.", "m1", "m6");
  return session;
}

test("agents/sessions: what was said comes over word for word, with its branches, its summary and the originals under it", async () => {
  await inNewAgent(async (agent) => {
    const theirs = await spoken(agent);
    const session = own(agent);
    const taken = await session.importFrom(fromSessions(theirs));
    expect(taken).toEqual({ messages: 15, inserted: 15, summaries: 1, blocks: 0, notes: [] });
    const view = (await session.getView({ apart: true })).messages;
    expect(JSON.stringify(view)).toContain("They spoke of files.");
    expect(ids(view).slice(-6)).toEqual(["m7", "m8", "m9", "m10", "m11", "m12"]);
    const [overlay] = await session.getCompactions();
    expect(await session.expand(overlay?.id ?? "")).toEqual(talk(1, 7));
    expect(ids((await session.getView("m21")).messages).slice(-3)).toEqual(["m7", "m20", "m21"]);
    expect((await session.getLatestLeaf())?.id).toBe("m12");
    // Theirs is as it was.
    expect(await theirs.getCompactions()).toHaveLength(1);
    expect(await theirs.getHistoryRowStats()).toHaveLength(13);
  });
});

test("done again it changes nothing, also after more was said and after the summary was taken back", async () => {
  await inNewAgent(async (agent) => {
    const theirs = await spoken(agent);
    const session = own(agent);
    await session.importFrom(fromSessions(theirs));
    const [overlay] = await session.getCompactions();
    await session.rollback(overlay?.id ?? "");
    await session.appendMessage(say(13));
    expect(await session.importFrom(fromSessions(theirs))).toEqual({
      messages: 15,
      inserted: 0,
      summaries: 0,
      blocks: 0,
      notes: [],
    });
    expect(ids((await session.getView({ apart: true })).messages)).toEqual(ids(talk(0, 14)));
  });
});

test("where it was interrupted, doing it again goes on, and ends in the same", async () => {
  await inNewAgent(async (agent) => {
    const session = own(agent);
    const many = talk(0, 250);
    let left = 180;
    const source: StoredConversation = {
      name: "a store",
      places: async () => many.map(({ id }, at) => ({ id, parentId: many[at - 1]?.id ?? null })),
      message: async (id) => {
        if (left-- === 0) throw new Error("the object died");
        return many.find((message) => message.id === id) ?? null;
      },
      summaries: async () => [],
    };
    await expect(session.importFrom(source)).rejects.toThrow("the object died");
    expect(await session.getPathLength()).toBe(100);
    const read = vi.spyOn(source, "message");
    left = Infinity;
    expect(await session.importFrom(source)).toMatchObject({ messages: 250, inserted: 150 });
    expect(read).toHaveBeenCalledTimes(150);
    expect(ids(await session.getHistory()).slice(-2)).toEqual(["m248", "m249"]);
    expect(await session.getPathLength()).toBe(250);
  });
});

test("a message with a mark of ours is left out and named, and what hangs under it moves up", async () => {
  await inNewAgent(async (agent) => {
    const session = own(agent);
    const ids = ["m0", "palimpsest:record:ov_1", "palimpsest:slice:0-end:m0", "m3", "marked", "m4"];
    const source: StoredConversation = {
      name: "a store",
      places: async () => ids.map((id, at) => ({ id, parentId: ids[at - 1] ?? null })),
      message: async (id) => ({
        ...say(0),
        id,
        ...(id === "marked" && { metadata: { palimpsest: { kind: "record", rules: [] } } }),
      }),
      summaries: async () => [],
    };
    const { inserted, notes } = await session.importFrom(source);
    expect(inserted).toBe(3);
    expect(notes).toEqual([
      expect.stringMatching(/"palimpsest:record:ov_1" was left out: .*reserved_id/),
      expect.stringMatching(/"palimpsest:slice:0-end:m0" was left out: .*view/),
      expect.stringMatching(/"marked" was left out: .*reserved_metadata/),
    ]);
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["m0", "m3", "m4"]);
  });
});

test("a session in which somebody spoke before all was there is refused, and stays as it is", async () => {
  await inNewAgent(async (agent) => {
    const theirs = await spoken(agent);
    const session = own(agent);
    await session.appendMessage(say(50));
    await expect(session.importFrom(fromSessions(theirs))).rejects.toThrow(/import_failed.*onStart/);
    expect(ids((await session.getView({ apart: true })).messages)).toEqual(["m50"]);
    expect(await session.forSession("before").importFrom(fromSessions(theirs))).toMatchObject({ inserted: 15 });
    await expect(agent.palimpsest.session().importFrom(fromSessions(theirs))).rejects.toThrow(/host_owns_messages/);
    await expect(session.importFrom({} as never)).rejects.toThrow(/invalid_input.*fromLegacyTables/);
  });
});

test("the tables of agents 0.20, as that version wrote them: messages, branches and the summary that was in force", async () => {
  await inNewAgent(async (agent) => {
    const { sql } = agent.storage;
    for (const statement of written.schema) sql.exec(statement);
    for (const { id, session_id, parent_id, role, content, created_at } of written.messages)
      sql.exec(
        "INSERT INTO assistant_messages VALUES (?, ?, ?, ?, ?, ?)",
        id,
        session_id,
        parent_id,
        role,
        content,
        created_at,
      );
    for (const { id, session_id, summary, from_message_id, to_message_id, created_at } of written.compactions) {
      const row = [id, session_id, summary, from_message_id, to_message_id, created_at];
      sql.exec("INSERT INTO assistant_compactions VALUES (?, ?, ?, ?, ?, ?)", ...row);
    }
    const session = own(agent);
    const taken = await session.importFrom(fromLegacyTables(agent.storage));
    expect(taken).toEqual({ messages: 16, inserted: 16, summaries: 1, blocks: 0, notes: [] });
    const view = (await session.getView({ apart: true })).messages;
    // The view of that version, with the first message, one summary, and the messages after it.
    expect(ids(view).filter((id) => !id.startsWith("palimpsest:"))).toEqual(
      written.history.filter((id) => !id.startsWith("compaction_")),
    );
    expect(JSON.stringify(view)).toContain("All that was said until the eighth.");
    const [overlay] = await session.getCompactions();
    const beneath = await session.expand(overlay?.id ?? "");
    const stored = written.messages.map(({ content }) => JSON.parse(content) as UIMessage);
    expect(beneath).toEqual(stored.slice(1, 9));
    expect(ids((await session.getView("b1")).messages).slice(-2)).toEqual(["b0", "b1"]);
    const other = agent.palimpsest.session("other");
    expect(await other.importFrom(fromLegacyTables(agent.storage, "other"))).toMatchObject({
      messages: 1,
      inserted: 1,
    });
    const none = agent.palimpsest.session("none");
    expect(await none.importFrom(fromLegacyTables(agent.storage, "none"))).toMatchObject({ messages: 0, summaries: 0 });
  });
});

// example
/** The rows of `CREATE TABLE messages (id INTEGER PRIMARY KEY, role TEXT, content TEXT, created_at INTEGER)`, times in milliseconds. */
function fromMyTable(sql: SqlStorage): StoredConversation {
  return {
    name: "the table messages",
    places: async () => {
      const rows = sql.exec<{ id: number; created_at: number }>("SELECT id, created_at FROM messages ORDER BY id");
      let parentId: string | null = null;
      return rows.toArray().map(({ id, created_at: createdAt }) => {
        const place = { id: `row-${id}`, parentId, createdAt };
        parentId = place.id;
        return place;
      });
    },
    message: async (id) => {
      const query = "SELECT role, content FROM messages WHERE id = ?";
      const row = sql.exec<{ role: "user" | "assistant"; content: string }>(query, Number(id.replace("row-", "")));
      const { role, content } = row.one();
      return { id, role, parts: [{ type: "text", text: content }] };
    },
    summaries: async () => [],
  };
}
// end

test("a table of one's own comes over once, in its order and with its times, and goes on with what is said", async () => {
  await inNewAgent(async (agent) => {
    const { sql } = agent.storage;
    sql.exec("CREATE TABLE messages (id INTEGER PRIMARY KEY, role TEXT, content TEXT, created_at INTEGER)");
    for (const at of [0, 1, 2])
      sql.exec(
        "INSERT INTO messages VALUES (?, ?, ?, ?)",
        at + 7,
        at % 2 === 0 ? "user" : "assistant",
        `Words ${at}.`,
        Date.UTC(2025, 0, at + 1),
      );
    const session = own(agent);
    expect(await session.importFrom(fromMyTable(sql))).toMatchObject({ messages: 3, inserted: 3, notes: [] });
    await session.appendMessage(say(50));
    expect(await session.importFrom(fromMyTable(sql))).toMatchObject({ messages: 3, inserted: 0 });
    const path = await session.getHistory();
    expect(ids(path)).toEqual(["row-7", "row-8", "row-9", "m50"]);
    expect(path[1]).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "Words 1." }] });
    const [{ createdAt } = { createdAt: 0 }] = sql
      .exec<{ createdAt: number }>("SELECT created_at AS createdAt FROM palimpsest_messages WHERE id = 'row-8'")
      .toArray();
    expect(createdAt).toBe(Date.UTC(2025, 0, 2));
  });
});

test("a message keeps the time at which it was said, where its store or its file has one that can be", async () => {
  await inNewAgent(async (agent) => {
    const { sql } = agent.storage;
    for (const statement of written.schema) sql.exec(statement);
    const stored = ["2025-01-02 03:04:05", "2025-01-03", "no date"];
    for (const [at, time] of stored.entries())
      sql.exec(
        "INSERT INTO assistant_messages VALUES (?, '', ?, 'user', ?, ?)",
        `m${at}`,
        at === 0 ? null : `m${at - 1}`,
        JSON.stringify(say(at)),
        time,
      );
    const timesOf = (sessionId: string) =>
      sql
        .exec<{ at: number }>("SELECT created_at AS at FROM palimpsest_messages WHERE session_id = ?", sessionId)
        .toArray()
        .map(({ at }) => (at > Date.UTC(2026, 0) ? "now" : new Date(at).toISOString().slice(0, 19)));
    const before = Date.now();
    await own(agent).importFrom(fromLegacyTables(agent.storage));
    expect(timesOf("own").toSorted()).toEqual(["2025-01-02T03:04:05", "2025-01-03T00:00:00", "now"]);
    expect(await own(agent).importFrom(fromLegacyTables(agent.storage))).toMatchObject({ inserted: 0 });

    const never = [before + 1e12, 1e300, -1, 0.5, "2025-01-02", null];
    const lines = [said(0, Date.UTC(2025, 0, 2)), ...never.map((time, at) => said(at + 1, time))];
    await agent.palimpsest.session("file").importTranscript(lines.join("\n"));
    expect(timesOf("file")).toEqual(["2025-01-02T00:00:00", ...never.map(() => "now")]);
  });
});

test("context blocks come along into blocks of the same label that are empty, and a note names any other", async () => {
  await inNewAgent(async (agent) => {
    const { sql } = agent.storage;
    for (const statement of [...written.schema, ...written.blockSchema]) sql.exec(statement);
    for (const { label, content } of written.blocks)
      sql.exec("INSERT INTO cf_agents_context_blocks (label, content) VALUES (?, ?)", label, content);
    for (const { label, key, content } of written.entries)
      sql.exec("INSERT INTO cf_agents_search_entries (label, key, content) VALUES (?, ?, ?)", label, key, content);
    sql.exec(
      "INSERT INTO assistant_messages VALUES ('o', 'ana', NULL, 'user', ?, '2026-11-22')",
      JSON.stringify(say(0)),
    );
    const session = own(agent).withContext("memory").withContext("plan", { maxTokens: 2 }).withContext("soul");
    await session.replaceContextBlock("soul", "Kind.");
    const source = fromLegacyTables(agent.storage);
    const taken = await session.importFrom(source);
    expect(taken.blocks).toBe(1);
    expect(taken.notes).toEqual([
      'The entries of the searchable block "facts" were left out: 2. They stay in the table cf_agents_search_entries.',
      'The context block "old" (9 characters) was left out: the session declares no block of this label.',
      expect.stringMatching(/^The context block "plan" \(\d+ characters\) was left out: .*block_full/),
      'The context block "soul" (7 characters) was left out: the block holds another text.',
    ]);
    expect((await session.getContextBlock("memory"))?.content).toBe("Ana prefers grey.");
    await session.replaceContextBlock("memory", "Ana prefers red.");
    expect((await session.importFrom(source)).blocks).toBe(0);
    expect((await session.getContextBlock("memory"))?.content).toBe("Ana prefers red.");
    const ana = agent.palimpsest.session("ana").withContext("memory");
    expect(await ana.importFrom(fromLegacyTables(agent.storage, "ana"))).toMatchObject({ inserted: 1, blocks: 1 });
    expect((await ana.getContextBlock("memory"))?.content).toBe("Of Ana alone.");
    const theirs = agent.palimpsest.session("theirs").withContext("memory");
    await agent.sessions.session("theirs").appendMessage(say(0));
    const later = fromSessions(agent.sessions.session("theirs"), agent.storage);
    expect((await theirs.importFrom(later)).blocks).toBe(1);
  });
});

test("what cannot be taken in is named, and what hung under it hangs under the one before", async () => {
  await inNewAgent(async (agent) => {
    const session = own(agent);
    const stored = [say(0), { ...say(1), role: "robot" as never }, say(2)];
    const taken = await session.importFrom({
      name: "a store",
      places: async () => stored.map(({ id }, at) => ({ id, parentId: stored[at - 1]?.id ?? null })),
      message: async (id) => stored.find((message) => message.id === id) ?? null,
      summaries: async () => [
        { summary: "Of nothing.", fromMessageId: "m2", toMessageId: "m0" },
        { summary: "x".repeat(5_000), fromMessageId: "m0", toMessageId: "m0" },
      ],
    });
    expect(taken).toMatchObject({ inserted: 2, summaries: 0 });
    expect(taken.notes).toHaveLength(3);
    expect(taken.notes.join(" ")).toMatch(/"m1".*left out/);
    expect(ids((await session.getView({ apart: true })).messages)).toEqual(["m0", "m2"]);
  });
});

test("parents come first and the active branch last, whatever the order, the gaps and the circles of the rows", () => {
  const rows = [
    { id: "c", parentId: "b" },
    { id: "a", parentId: null },
    { id: "side", parentId: "a" },
    { id: "b", parentId: "a" },
    { id: "orphan", parentId: "gone" },
    { id: "x", parentId: "y" },
    { id: "y", parentId: "x" },
  ];
  const ordered = parentsFirst(rows, "c").map(({ id }) => id);
  expect(ordered.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  for (const { id, parentId } of parentsFirst(rows, "c"))
    if (parentId !== null) expect(ordered.indexOf(parentId)).toBeLessThan(ordered.indexOf(id));
  expect(ordered.indexOf("side")).toBeLessThan(ordered.indexOf("b"));
});
