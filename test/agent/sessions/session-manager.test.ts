/** Several sessions in one agent, with calls to all of them and calls by id. */
import { Session } from "../../../src/agent/sessions/session.ts";
import type { FullManager, FullSession } from "../../rooms.ts";
import type { UIMessage } from "ai";
import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { LeafInput } from "../../../src/agent/inputs.ts";
import { buildWorkingContext } from "../../../src/events/context.ts";
import { errorCode } from "../../../src/errors.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun, stubOf } from "../../agents.ts";
import { say, talk, textOf } from "../../conversation.ts";
import { noting, rest } from "../../noted.ts";
import { summaryOf } from "../../scripted-model.ts";
import { inside } from "../inside.ts";

skipRetryDelays();

/** The code of what the work throws, or what it returns. */
function code(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return errorCode(error);
  }
}

function ids(messages: readonly { id: string }[]): string[] {
  return messages.map((message) => message.id);
}

// --- by session id ----------------------------------------------------------------------------------------------------

test("sessions are made, listed, named, counted and deleted over RPC", async () => {
  const { agent } = newAgent();
  const parent = await agent.createSession({});
  await agent.append({ sessionId: parent.id, message: say(0) });
  const child = await agent.createSession({ name: "Child", parentSessionId: parent.id, model: "big", source: "mail" });
  expect(child).toMatchObject({ name: "Child", parentSessionId: parent.id, model: "big", source: "mail" });
  await agent.addUsage({ sessionId: child.id, inputTokens: 100, outputTokens: 10, cost: 0.5 });
  await agent.addUsage({ sessionId: child.id, inputTokens: 1, outputTokens: 1 });
  expect(await agent.getSessionInfo({ sessionId: child.id })).toMatchObject({
    inputTokens: 101,
    outputTokens: 11,
    cost: 0.5,
  });
  expect((await agent.getSessionInfo({ sessionId: parent.id }))?.name).toMatch(/^Message 0: we changed src.*…$/);
  await agent.renameSession({ sessionId: parent.id, name: "Parent" });
  const [newest, oldest] = await agent.listSessions({});
  expect(new Set([newest?.name, oldest?.name])).toEqual(new Set(["Child", "Parent"]));
  expect(await agent.listSessions({ limit: 1 })).toEqual([newest]);
  expect(await agent.listSessions({ before: newest })).toEqual([oldest]);
  expect(await agent.deleteSession({ sessionId: parent.id })).toBe(true);
  expect(await agent.deleteSession({ sessionId: parent.id })).toBe(false);
  expect(await agent.getSessionInfo({ sessionId: parent.id })).toBeNull();
  expect(await agent.listSessions({})).toMatchObject([{ name: "Child", parentSessionId: null }]);
});

test("metadata that JSON would drop or change is refused, and no session is made", async () => {
  const circle: Record<string, unknown> = {};
  circle["of"] = circle;
  await inside(newAgent(), (manager) => {
    for (const metadata of [
      { f: () => 1 },
      { deep: [{ f: () => 1 }] },
      { at: new Date(0) },
      { map: new Map([[1, 2]]) },
      { part: Number.NaN },
      { big: 1n },
      { list: [undefined] },
      { symbol: Symbol("s") },
      circle,
    ])
      expect(() => manager.create("refused", { metadata })).toThrow("[invalid_input]");
    expect(manager.list()).toEqual([]);
    const held = { text: "a", list: [1, null, { yes: true }], none: undefined };
    expect(manager.create("held", { metadata: held }).metadata).toEqual({ text: "a", list: [1, null, { yes: true }] });
  });
});

test("a session keeps the metadata that it was created with, and hands it on to its fork", async () => {
  const { agent } = newAgent();
  const metadata = { customer: { id: 7, tags: ["new", null] }, open: true };
  const { id: sessionId } = await agent.createSession({ name: "Mail", metadata });
  expect(await agent.getSessionInfo({ sessionId })).toMatchObject({ name: "Mail", metadata });
  await agent.append({ sessionId, message: say(0) });
  const fork = await agent.forkSession({ sessionId, atMessageId: "m0" });
  expect((await agent.listSessions({})).map((each) => each.metadata)).toEqual([metadata, metadata]);
  expect(fork.metadata).toEqual(metadata);
  await agent.append({ sessionId: "by-its-message", message: say(1) });
  expect((await agent.getSessionInfo({ sessionId: "by-its-message" }))?.metadata).toBeNull();
});

test("a summary of the caller's own stands for its messages, over RPC as in the agent's own code", async () => {
  const { agent } = newAgent();
  const of = { sessionId: "told" };
  await agent.appendAll({ ...of, messages: [say(0), say(1), say(2), say(3)] });
  await agent.addCompaction({ ...of, summary: "Two were said.", fromMessageId: "m1", toMessageId: "m2" });
  const { messages } = await agent.getView({ ...of, apart: true });
  expect([messages.length, messages[0]?.id, messages[2]?.id]).toEqual([3, "m0", "m3"]);
  expect(JSON.stringify(messages[1])).toContain("Two were said.");
});

test("what is asked of a session that is not there is refused with advice", async () => {
  const { agent } = newAgent();
  const none = { sessionId: "none" };
  expect(await refusalOf(() => agent.renameSession({ ...none, name: "x" }))).toMatch(/^\[unknown_session\].*list\(\)/);
  const usage = { inputTokens: 1, outputTokens: 1 };
  expect(await refusalOf(() => agent.addUsage({ ...none, ...usage }))).toMatch(/^\[unknown_session\]/);
  expect(await refusalOf(() => agent.forkSession({ ...none, atMessageId: "m0" }))).toMatch(/^\[unknown_session\]/);
  expect(await refusalOf(() => agent.createSession({ parentSessionId: "none" }))).toMatch(/^\[unknown_session\]/);
  expect(await refusalOf(() => agent.addUsage({ ...usage, inputTokens: -1 }))).toMatch(/^\[invalid_input\]/);
  expect(await agent.listSessions({})).toEqual([]);
});

test("appending several to a session that is not empty continues from its leaf", async () => {
  await inside(newAgent(), async (manager) => {
    const { id } = manager.create("Talk");
    await manager.append(id, say(0));
    const appended = await manager.appendAll(id, talk(1, 4));
    expect(appended.map((each) => each.inserted)).toEqual([true, true, true]);
    await manager.append(id, say(4));
    expect(ids(await manager.getHistory(id))).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    expect(await manager.getMessageCount(id)).toBe(5);
  });
});

test("every method works on a session that was not touched since the object woke up", async () => {
  const made = newAgent();
  const id = await inside(made, async (manager) => {
    const session = manager.create("Talk");
    await manager.appendAll(session.id, talk(0, 6));
    await manager.append(session.id, say(6), "m3");
    return session.id;
  });
  const cold = async <T>(work: (manager: FullManager) => T | Promise<T>): Promise<T> => {
    await evictDurableObject(made.stub);
    return inside({ stub: newStub(made.name) }, work);
  };
  expect(await cold((manager) => manager.get(id)?.name)).toBe("Talk");
  expect(await cold(async (manager) => ids(await manager.getHistory(id)))).toEqual(["m0", "m1", "m2", "m3", "m6"]);
  expect(await cold(async (manager) => ids(await manager.getHistory(id, "m5")))).toHaveLength(6);
  expect(await cold((manager) => manager.getMessageCount(id))).toBe(5);
  expect(await cold(async (manager) => ids(await manager.getBranches(id, "m3")))).toEqual(["m4", "m6"]);
  expect(await cold(async (manager) => (await manager.upsert(id, say(6, "Again. "))).inserted)).toBe(false);
  expect(await cold(async (manager) => textOf(await manager.getHistory(id)))).toContain("Again.");
  expect(await cold((manager) => manager.deleteMessages(id, ["m1", "m2"]))).toBe(2);
  const fork = await cold((manager) => manager.fork(id, "m6"));
  expect(await cold(async (manager) => ids(await manager.getHistory(fork.id)))).toEqual(["m0", "m3", "m6"]);
  await cold((manager) => manager.clearMessages(id));
  expect(await cold((manager) => manager.getHistory(id))).toEqual([]);
  expect(await cold((manager) => manager.delete(id))).toBe(true);
  expect(await cold((manager) => ids(manager.list()))).toEqual([fork.id]);
});

function newStub(name: string) {
  return stubOf(name) as unknown as ReturnType<typeof newAgent>["stub"];
}

test("a fork goes on by itself, with what its parent had compacted (S1)", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "what was said"));
  const run = await startRun(agent);
  await agent.waitForRun({ runId: run.id });
  const leafId = (await agent.status({})).leafId ?? "";
  const fork = await agent.forkSession({ atMessageId: leafId, name: "Other way" });
  expect(fork).toMatchObject({ name: "Other way", parentSessionId: "", source: "fork" });
  expect(await agent.getView({ sessionId: fork.id })).toEqual(await agent.getView({}));
  await agent.append({ sessionId: fork.id, message: say(100) });
  expect((await agent.status({})).leafId).toBe(leafId);
  expect(await agent.getCompactions({ sessionId: fork.id })).toEqual(await agent.getCompactions({}));
});

test("a fork without a name is told from its parent, and from a fork of its own", async () => {
  await inside(newAgent(), async (manager) => {
    await manager.append("s", { id: "m", role: "user", parts: [{ type: "text", text: "Fix the parser" }] });
    const fork = await manager.fork("s", "m");
    const again = await manager.fork(fork.id, "m");
    const named = await manager.fork(again.id, "m", "Other way");
    const ofNamed = await manager.fork(named.id, "m");
    const names = ["s", fork.id, again.id, named.id, ofNamed.id].map((id) => manager.get(id)?.name);
    const [title, one, two, , four] = ["", " (fork)", " (fork 2)", "", " (fork 4)"].map(
      (mark) => `Fix the parser${mark}`,
    );
    expect(names).toEqual([title, one, two, "Other way", four]);
    expect(new Set(manager.list().map((each) => each.name))).toEqual(new Set(names));
    await manager.clearMessages(fork.id);
    expect(manager.get(fork.id)?.name).toBeNull();
    await manager.delete(fork.id);
    expect(manager.get(again.id)?.name).toBe(one);
  });
});

test("summaries of a caller's own are laid and listed by session id", async () => {
  await inside(newAgent(), async (manager) => {
    await manager.appendAll("s", talk(0, 6));
    const { id } = await manager.addCompaction("s", "In short.", "m1", "m3");
    expect(await manager.getCompactions("s")).toMatchObject([{ id, span: { fromId: "m1", toId: "m3" } }]);
    expect(await manager.getCompactions("other")).toEqual([]);
    expect(textOf(await manager.getHistory("s"))).toContain("In short.");
  });
});

test("branches are named by id or in an object, as the SDK's sessions have it; anything else is refused by name", async () => {
  await inside(newAgent(), async (manager, agent) => {
    const session = Session.create(agent).forSession("s");
    await session.appendAll(talk(0, 4));
    const path = async (leaf?: LeafInput) => ids(await session.getHistory(leaf));
    expect(await path({ leafId: "m1" })).toEqual(["m0", "m1"]);
    for (const leaf of [undefined, null, {}, { leafId: null }]) expect(await path(leaf)).toHaveLength(4);
    expect(await session.getPathLength({ leafId: "m1" })).toBe(2);
    expect(await manager.getHistory("s", { leafId: "m2" })).toHaveLength(3);
    await session.appendMessage(say(10), { parentId: "m1" });
    await session.appendMessage(say(11), { parentId: null });
    expect(ids(await session.getBranches("m1"))).toEqual(["m2", "m10"]);
    expect(await path("m11")).toEqual(["m11"]);
    await session.upsertMessage(say(12), { parentId: "m10" });
    await session.appendAll([say(13)], { parentId: "m12" });
    expect(await path()).toEqual(["m0", "m1", "m10", "m12", "m13"]);
    const wrong: unknown[] = [5, true, [], ["m1"], { id: "m1" }, { leafId: "m1", newestFirst: true }, { leafId: 5 }];
    for (const leaf of wrong) {
      const refusal = await refusalOf(() => session.getHistory(leaf as never));
      if (!Array.isArray(leaf) || leaf.length > 0) expect(refusal).toMatch(/^\[invalid_input\] leafId .*\{ leafId \}/);
    }
    expect(await refusalOf(() => session.appendMessage(say(20), { parent: "m1" } as never))).toMatch(/with parent:/);
    expect(await session.getMessage("m20")).toBeNull();
  });
});

test("a turn that was made in a context is stored by its session, whole", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("s!2000");
    await session.appendAll(talk(0, 16));
    const context = buildWorkingContext(await session.loadEvents());
    context.addMessage(say(16)).addMessage(say(17));
    expect(await session.persistWorkingContext(context)).toEqual({ inserted: true, leafId: "m17" });
    expect(await session.persistWorkingContext(context)).toEqual({ inserted: false, leafId: "m17" });
    expect((await session.status()).liveRunIds).toHaveLength(1);
  });
});

test("compacting a fork asks no model for what its parent has a draft of (R3)", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "what was said"));
  await inside(made, async (manager) => {
    const parent = manager.getSession("!9000");
    await parent.appendAll(talk(0, 80));
    const { overlayId } = await compact(parent);
    await parent.rollback(overlayId);
    const paid = made.calls.length;
    const fork = manager.getSession((await manager.fork("!9000", "m79")).id);
    fork.compactAfter(9_000, { chunkTokens: 1_500, tail: 3_000 });
    const again = await compact(fork);
    expect(paid).toBeGreaterThan(1);
    expect(made.calls.length).toBe(paid);
    expect(again.steps.filter((step) => step.reused).length).toBeGreaterThan(1);
  });
});

async function compact(session: FullSession) {
  const { run } = await session.compact();
  const { outcome, steps } = await session.ended(run.id);
  if (outcome?.kind !== "applied") throw new Error(`The run came to ${outcome?.kind}.`);
  return { steps, overlayId: outcome.overlayId };
}

// --- what every session is told ---------------------------------------------------------------------------------------

test("what the manager is told holds for every session that no other code named, met before or after", async () => {
  await inside(newAgent(), async (manager, agent) => {
    Session.create(agent).forSession("named").compactAfter(5_000);
    const before = await manager.getSession("early").status();
    expect(before.thresholdTokens).toBe(2_000);
    manager.withContext("memory", { description: "what to keep" }).withCachedPrompt().withSearchableHistory("past");
    expect(await manager.getSession("early").freezeSystemPrompt()).toContain("MEMORY");
    expect(Object.keys(await manager.getSession("late").tools())).toEqual(["set_context", "search_context", "recall"]);
    await manager.getSession("early").replaceContextBlock("memory", "of the early one");
    expect((await manager.getSession("late").getContextBlock("memory"))?.content).toBe("");
    expect((await manager.getSession("named").status()).thresholdTokens).toBe(5_000);
  });
});

/** A message in which a tool called `load_context` answered. */
function loading(label: string, output: string): UIMessage {
  const call = { toolCallId: label, state: "output-available", input: { label, key: "k" }, output } as const;
  return { id: `of ${label}`, role: "assistant", parts: [{ type: "tool-load_context", ...call }] };
}

async function shown(session: FullSession): Promise<string> {
  return textOf((await session.getView()).messages);
}

test("a loaded text is shown wherever it came from, until it is unloaded here: imports and other tools' outputs too", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("s");
    session.withContext("skills", { provider: { get: async () => "- k", load: async () => "SKILL TEXT" } });
    await session.appendMessage(say(0));
    await session.appendMessage(loading("skills", await session.context.loadSkill("skills", "k")));
    await session.appendMessage(loading("crm", "OF ANOTHER TOOL"));
    for (const text of ["SKILL TEXT", "OF ANOTHER TOOL"]) expect(await shown(session)).toContain(text);
    const copy = manager.getSession("copy");
    await copy.importTranscript((await Array.fromAsync(session.exportTranscript())).join(""));
    expect(await shown(copy)).toBe(await shown(session));
    expect(await session.unloadSkill("skills", "k")).toBe(true);
    expect(await shown(session)).not.toContain("SKILL TEXT");
    expect(await shown(session)).toContain("OF ANOTHER TOOL");
    expect(await shown(copy)).toContain("SKILL TEXT");
  });
});

test("a client far away reads and writes blocks, freezes the prompt and hears what changed since", async () => {
  await inside(newAgent(), async (manager, agent) => {
    manager.withContext("memory", { whenChanged: "remind" });
    const block = { sessionId: "s", label: "memory" };
    expect(await agent.replaceContextBlock({ ...block, content: "likes tea" })).toMatchObject({ content: "likes tea" });
    const prompt = await agent.freezeSystemPrompt({ sessionId: "s" });
    expect(prompt).toContain("likes tea");
    expect(await agent.appendContextBlock({ ...block, content: "and cake" })).toMatchObject({
      tokens: expect.any(Number),
    });
    expect(await agent.getContextBlock(block)).toMatchObject({ content: "likes tea\nand cake" });
    expect(await agent.freezeSystemPrompt({ sessionId: "s" })).toBe(prompt);
    expect(await agent.reminder({ sessionId: "s" })).toContain("and cake");
    expect(await agent.refreshSystemPrompt({ sessionId: "s" })).toContain("and cake");
    expect(await agent.reminder({ sessionId: "s" })).toBeNull();
    expect((await agent.getContextBlocks({ sessionId: "other" })).map((each) => each.content)).toEqual([""]);
  });
});

test("keepNotes and onAfterCompaction hold for every session, each with notes of its own (S1)", async () => {
  await inside(newAgent(noting), async (manager, agent) => {
    const told: string[] = [];
    manager
      .keepNotes({
        growthTokens: 300,
        toolCalls: 0,
        asBlock: "notes",
        keep: { minTokens: 300, minTextBlockMessages: 2 },
      })
      .onAfterCompaction(({ sessionId }) => void told.push(sessionId));
    await manager.appendAll("one", talk(0, 8));
    await rest(agent, "one");
    expect(await manager.getSession("one").getNotes()).toMatchObject({ covered: { messageId: "m7" } });
    expect(await manager.getSession("two").getNotes()).toBeNull();
    expect((await manager.getSession("one").getContextBlock("notes"))?.content).toContain("keep every promise");
    await manager.appendAll("one", talk(8, 12));
    await rest(agent, "one");
    const { run } = await manager.getSession("one").compact();
    expect(await manager.getSession("one").ended(run.id)).toMatchObject({ path: "notes" });
    while (told.length === 0) await scheduler.wait(1);
    expect(told).toEqual(["one"]);
    expect(code(() => manager.keepNotes({ growthTokens: 0 }))).toBe("invalid_options");
    expect(code(() => manager.keepNotes({ asBlock: "a:b" }))).toBe("invalid_options");
  });
});

test("one writable provider object for every session is refused: sessions would share what it stores (S1)", async () => {
  await inside(newAgent(), (manager) => {
    const provider = { get: async () => null, set: async () => undefined };
    expect(code(() => manager.withContext("memory", { provider }))).toBe("invalid_options");
    expect(code(() => manager.withContext("memory", { provider, shared: true }))).toBe(manager);
    expect(code(() => manager.withContext("soul", { provider: () => ({ ...provider }) }))).toBe(manager);
    expect(code(() => manager.withCachedPrompt(provider as never))).toBe("invalid_options");
    expect(code(() => manager.withCachedPrompt(() => ({ ...provider })))).toBe(manager);
    expect(code(() => manager.compactAfter(-1))).toBe("invalid_options");
  });
});

// --- search -----------------------------------------------------------------------------------------------------------

test("words are found however wide they are written", async () => {
  await inside(newAgent(), async (manager) => {
    const text = "ﾊﾟｿｺﾝ in ＴＯＫＹＯ";
    await manager.append("s", { id: "m", role: "user", parts: [{ type: "text", text }] });
    for (const query of ["パソコン", "ﾊﾟｿｺﾝ", "tokyo"]) expect(await manager.search(query)).toHaveLength(1);
  });
});

test("session_search tells a model what was said where, in few words, whatever it asks", async () => {
  await inside(newAgent(), async (manager) => {
    const { id } = manager.create("Deploy plan");
    await manager.append(id, say(0, "The zeppelin lands on Friday. "));
    await manager.appendAll(
      "many",
      Array.from({ length: 40 }, (_, n) => say(n, `airship ${"x".repeat(5_000)} `)),
    );
    const search = manager.tools()["session_search"];
    const ask = async (query: string): Promise<string> => {
      const options = { toolCallId: "t", messages: [], context: undefined } as never;
      return (await search?.execute?.({ query }, options)) as string;
    };
    expect(await ask("zeppelin friday")).toMatch(new RegExp(`user, in "Deploy plan" \\(session ${id}, message m0\\)`));
    expect((await ask("airship")).length).toBeLessThan(10 * 800);
    expect(await ask("nothing like it")).toBe("Nothing matches. Try fewer or other words.");
    expect(await ask('"')).toBe("Nothing matches. Try fewer or other words.");
    expect(await manager.search("zeppelin")).toMatchObject([{ sessionId: id, id: "m0" }]);
  });
});

test("options in the place of a name are refused with a code, and make no session", async () => {
  await inside(newAgent(), (manager) => {
    const misplaced = { metadata: { who: "ada" } } as unknown as string;
    expect(code(() => manager.create(misplaced))).toBe("invalid_input");
    const { id } = manager.create("Ada");
    expect(code(() => manager.rename(id, misplaced))).toBe("invalid_input");
    expect(manager.list().map(({ name }) => name)).toEqual(["Ada"]);
  });
});
