/** Several sessions in one agent: what all are told, what is done by id, and what is left of one that was deleted. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/session.ts";
import { SessionManager } from "../../src/agent/session-manager.ts";
import { sqliteSearch } from "../../src/context/sqlite-search.ts";
import { errorCode } from "../../src/errors.ts";
import type { Draft } from "../../src/memory/drafts.ts";
import { NO_FACTS } from "../../src/steps/pinned/fact.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun, stubOf } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { settled } from "../engine.ts";
import { everyTable, tables } from "../rows.ts";
import { makeGate, summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

/** Runs a test where the agent's own code runs. */
function inside<T>(
  { stub }: Pick<ReturnType<typeof newAgent>, "stub">,
  work: (manager: SessionManager, agent: PalimpsestAgent, storage: DurableObjectStorage) => T | Promise<T>,
): Promise<T> {
  return runInDurableObject(stub, (agent: PalimpsestAgent, { storage }) =>
    work(SessionManager.create(agent), agent, storage),
  );
}

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

test("every method works on a session that was not touched since the object woke up (B2)", async () => {
  const made = newAgent();
  const id = await inside(made, async (manager) => {
    const session = manager.create("Talk");
    await manager.appendAll(session.id, talk(0, 6));
    await manager.append(session.id, say(6), "m3");
    return session.id;
  });
  const cold = async <T>(work: (manager: SessionManager) => T | Promise<T>): Promise<T> => {
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

test("compacting a fork asks no model for what its parent has a draft of (R3)", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "what was said"));
  await inside(made, async (manager) => {
    const parent = manager.getSession("!9000");
    await parent.appendMessages(talk(0, 80));
    const { overlayId } = await compact(parent);
    await parent.rollback(overlayId);
    const paid = made.calls.length;
    const fork = manager.getSession((await manager.fork("!9000", "m79")).id);
    fork.compactAfter(9_000, { chunkTokens: 1_500 });
    const again = await compact(fork);
    expect(paid).toBeGreaterThan(1);
    expect(made.calls.length).toBe(paid);
    expect(again.steps.filter((step) => step.reused).length).toBeGreaterThan(1);
  });
});

async function compact(session: Session) {
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

test("one writable provider object for every session is refused: sessions would share what it stores (S1)", async () => {
  await inside(newAgent(), (manager) => {
    const provider = { get: async () => null, set: async () => undefined };
    expect(code(() => manager.withContext("memory", { provider }))).toBe("invalid_options");
    expect(code(() => manager.withContext("memory", { provider, shared: true }))).toBe(manager);
    expect(code(() => manager.withContext("soul", { provider: () => ({ ...provider }) }))).toBe(manager);
    expect(code(() => manager.compactAfter(-1))).toBe("invalid_options");
  });
});

// --- search -----------------------------------------------------------------------------------------------------------

test("session_search tells a model what was said where, in few words, whatever it asks (B7)", async () => {
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

// --- delete -----------------------------------------------------------------------------------------------------------

const WORD = "xylozqword";
const SESSION = "zqsession!2000";

function holds(text: string): boolean {
  return text.includes(SESSION) || text.includes(WORD);
}

/** Puts something of the session into every table. */
async function fillTables(manager: SessionManager, agent: PalimpsestAgent): Promise<void> {
  const session = manager.getSession(SESSION);
  session.withContext("memory").withContext("facts", { provider: sqliteSearch }).withCachedPrompt();
  session.withContext("skills", { provider: { get: async () => WORD, load: async () => WORD } });
  await session.appendMessage(say(0));
  // Before the threshold asks for a run of its own, which has no focus and which this would join.
  await session.compact({ focus: WORD });
  await session.appendMessages([...talk(1, 15), say(15, `${WORD} `)]);
  await session.addCompaction(`${WORD} in short`, "m1", "m3");
  await session.search(WORD);
  await session.recordUsage({ inputTokens: 1_000, outputTokens: 10, model: "big" });
  agent.palimpsest.spend.add(SESSION, 1, 0);
  await session.replaceContextBlock("memory", WORD);
  await session.context.setContextEntry("facts", { key: WORD, content: WORD });
  await session.context.loadSkill("skills", WORD);
  await session.freezeSystemPrompt();
  await session.updateNotes({ sections: [{ title: WORD, text: WORD }] });
  const told = { model: "m", finishReason: "stop", inputTokens: 1, outputTokens: 1, degraded: false, problems: [] };
  const kept = { generation: 1, facts: NO_FACTS, score: 1, lost: [WORD] };
  agent.palimpsest.drafts.save(SESSION, { key: "k", text: WORD, tokens: 1, ...told, ...kept } satisfies Draft);
  await session.appendMessage(say(16, WORD.repeat(200_000)));
}

test("S2: after a delete no table holds anything of the session, nor of its words; another session keeps all", async () => {
  const gate = makeGate();
  const made = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, WORD);
  });
  await inside(made, async (manager, agent) => {
    await manager.appendAll("other", talk(0, 5));
    await manager.getSession("other").withContext("memory").replaceContextBlock("memory", "kept");
    await fillTables(manager, agent);
  });
  await gate.reached();
  const run = await inside(made, async (manager, agent, storage) => {
    // A table that this test fills nothing into is a table that nobody checks.
    for (const [name, text] of tables(storage)) expect(holds(text), `before, ${name}`).toBe(true);
    const other = await manager.getHistory("other");
    const [live] = agent.palimpsest.runs.live(SESSION);
    const waiting = manager.getSession(SESSION).ended(live?.id ?? "");
    expect(await manager.delete(SESSION)).toBe(true);
    expect(await waiting).toMatchObject({ state: "ended", outcome: { kind: "cancelled" } });
    for (const [name, text] of everyTable(storage)) expect(holds(text), `after, ${name}`).toBe(false);
    expect(await manager.getHistory("other")).toEqual(other);
    expect((await manager.getSession("other").getContextBlock("memory"))?.content).toBe("kept");
    expect(await manager.search(WORD)).toEqual([]);
    return live;
  });
  gate.open();
  expect((await settled(run?.id ?? "")).status).toBe("terminated");
  await made.agent.watchCompactions();
  await inside(made, (_manager, _agent, storage) => {
    for (const [name, text] of everyTable(storage)) expect(holds(text), `later, ${name}`).toBe(false);
  });
});

test("S2: a run is in no table of the SDK's, alive, ended or deleted with its session", async () => {
  const gate = makeGate();
  const made = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "short");
  });
  const mentions = (): Promise<string[]> =>
    inside(made, (_manager, _agent, storage) =>
      [...everyTable(storage)].filter(([, text]) => holds(text) || text.includes("run-")).map(([name]) => name),
    );
  const ours = /^palimpsest_/;
  const run = await startRun(made.agent, SESSION);
  await gate.reached();
  expect((await mentions()).filter((name) => !ours.test(name))).toEqual([]);
  gate.open();
  await made.agent.waitForRun({ runId: run.id });
  await settled(run.id);
  expect((await mentions()).filter((name) => !ours.test(name))).toEqual([]);
  await made.agent.deleteSession({ sessionId: SESSION });
  expect(await mentions()).toEqual([]);
});

test("S2: after a clear no table holds what was said, also not the focus of a run; what was written on purpose stays", async () => {
  const gate = makeGate();
  const made = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, WORD);
  });
  await inside(made, fillTables);
  await gate.reached();
  await inside(made, async (manager, _agent, storage) => {
    const before = tables(storage);
    for (const [name, text] of before) expect(holds(text), `before, ${name}`).toBe(true);
    expect(before.get("palimpsest_runs")).toContain(`"focus":"${WORD}"`);
    await manager.clearMessages(SESSION);
    const kept = /^palimpsest_(?:blocks|prompts|block_entries|block_index_data)$/;
    for (const [name, text] of tables(storage)) {
      if (kept.test(name)) expect(text, name).toBe(before.get(name));
      else expect(text.includes(WORD), name).toBe(false);
    }
    const session = manager.getSession(SESSION);
    expect((await session.getContextBlock("memory"))?.content).toBe(WORD);
    expect(await session.getLoadedSkillKeys()).toEqual(new Set());
    expect(manager.get(SESSION)).toMatchObject({ inputTokens: 1_000, outputTokens: 10 });
  });
  gate.open();
  const runs = await made.agent.runs({ sessionId: SESSION });
  expect(runs.map((run) => [run.state, run.focus])).toEqual(runs.map(() => ["ended", null]));
  expect(runs[0]).toMatchObject({ n: runs.length, outcome: { kind: "stale", reason: "gone" } });
  for (const run of runs) await settled(run.id);
  await made.agent.append({ sessionId: SESSION, message: say(0) });
  await inside(made, (_manager, _agent, storage) => {
    expect(tables(storage).get("palimpsest_drafts")).toBe("");
    expect(tables(storage).get("palimpsest_runs")).not.toContain(WORD);
  });
});

test("a run whose session is deleted while its model answers ends as cancelled, and its id starts anew (R1, S2)", async () => {
  const gate = makeGate();
  const { agent } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "too late");
  });
  const run = await startRun(agent, "s");
  await gate.reached();
  const waiting = agent.waitForRun({ runId: run.id });
  await agent.deleteSession({ sessionId: "s" });
  gate.open();
  expect(await waiting).toMatchObject({ outcome: { kind: "cancelled" } });
  expect((await settled(run.id)).status).toBe("terminated");
  expect(await refusalOf(() => agent.getRun({ runId: run.id }))).toMatch(/^\[unknown_run\]/);
  expect(await agent.getHistory({ sessionId: "s" })).toEqual([]);
  expect(await agent.runs({ sessionId: "s" })).toEqual([]);
  expect((await startRun(agent, "s")).n).toBe(1);
});

test("a step that outlives its session is told that the run is over, and writes nothing (S2)", async () => {
  const { agent } = newAgent();
  const run = await startRun(agent, "s");
  await agent.deleteSession({ sessionId: "s" });
  const told = await agent.compactionStep(run.id, "readOutline", [{ step: "read outline", attempt: 1 }]);
  expect(told).toEqual({ kind: "ended", outcome: { kind: "cancelled" } });
  await agent.watchCompactions();
  expect(await agent.listSessions({})).toEqual([]);
});

test("a function of the caller's own that answers after its session was deleted changes nothing (S2)", async () => {
  const gate = makeGate();
  await inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession("s").onCompaction(async () => {
      await gate.pass();
      return { summary: "too late", fromMessageId: "m1", toMessageId: "m5" };
    });
    await session.appendMessages(talk(0, 17));
    const [run] = agent.palimpsest.runs.live("s");
    const waiting = session.ended(run?.id ?? "");
    await gate.reached();
    await manager.delete("s");
    gate.open();
    expect((await waiting).outcome).toEqual({ kind: "cancelled" });
    await agent.watchCompactions();
    expect(manager.list()).toEqual([]);
  });
});
