/** Every table after a session was deleted or cleared. It keeps nothing that it should not. */
import type { FullManager } from "../../rooms.ts";
import { expect, test } from "vitest";
import { sqliteSearch } from "../../../src/context/sqlite.ts";
import type { Draft } from "../../../src/memory/drafts.ts";
import { NO_FACTS } from "../../../src/facts/fact.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { settled } from "../../engine.ts";
import { everyTable, tables } from "../../rows.ts";
import { makeGate, summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { inside } from "../inside.ts";

skipRetryDelays();

const WORD = "xylozqword";
const SESSION = "zqsession!2000";

function holds(text: string): boolean {
  return text.includes(SESSION) || text.includes(WORD);
}

/** Holds row numbers and no words. It has some before, and none after. */
const NUMBERS = ["palimpsest_search_partial", "palimpsest_search_edited"];

function isFilled(name: string, text: string): boolean {
  return NUMBERS.includes(name) ? text !== "" : holds(text);
}

/** Puts something of the session into every table. */
async function fillTables(manager: FullManager, agent: PalimpsestAgent): Promise<void> {
  const session = manager.getSession(SESSION);
  session.withContext("memory").withContext("facts", { provider: sqliteSearch }).withCachedPrompt();
  session.withContext("skills", { provider: { get: async () => WORD, load: async () => WORD } });
  await session.appendMessage(say(0));
  // Before the threshold asks for a run of its own, which has no focus and which this would join.
  await session.compact({ focus: WORD });
  await session.appendAll([...talk(1, 15), say(15, `${WORD} `)]);
  await session.addCompaction(`${WORD} in short`, "m1", "m3");
  await session.search(WORD);
  await session.recordUsage({ inputTokens: 1_000, outputTokens: 10, model: "big" });
  agent.palimpsest.spend.add(SESSION, 1, 0);
  agent.palimpsest.hookOutbox.add("run-untold", SESSION);
  await session.replaceContextBlock("memory", WORD);
  await session.context.setContextEntry("facts", { key: WORD, content: WORD });
  await session.context.loadSkill("skills", WORD);
  await session.freezeSystemPrompt();
  await session.updateNotes({ sections: [{ title: WORD, text: WORD }] });
  const told = { model: "m", finishReason: "stop", degraded: false, problems: [] };
  const kept = { generation: 1, facts: NO_FACTS, unfounded: [WORD] };
  agent.palimpsest.memory.drafts.save(SESSION, { key: "k", text: WORD, tokens: 1, ...told, ...kept } satisfies Draft);
  await session.appendMessage(say(16, `${WORD} `.repeat(200_000)));
  await session.search(WORD);
  await session.updateMessage(say(15, `${WORD} once more`));
}

test.each([
  ["with all its rooms", () => undefined],
  // As in an agent that had the rooms once and does not add them now.
  [
    "without the rooms that stored it",
    ({ palimpsest }: PalimpsestAgent) => void Object.assign(palimpsest.rooms, { deleted: undefined }),
  ],
] as const)(
  "S2: after a delete %s no table holds anything of the session, nor of its words; another session keeps all",
  async (_with, prepare) => {
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
      for (const [name, text] of tables(storage)) expect(isFilled(name, text), `before, ${name}`).toBe(true);
      const other = await manager.getHistory("other");
      const [live] = agent.palimpsest.runs.live(SESSION);
      const waiting = manager.getSession(SESSION).ended(live?.id ?? "");
      prepare(agent);
      expect(await manager.delete(SESSION)).toBe(true);
      expect(await waiting).toMatchObject({ state: "ended", outcome: { kind: "cancelled" } });
      for (const [name, text] of everyTable(storage)) expect(holds(text), `after, ${name}`).toBe(false);
      for (const name of NUMBERS) expect(tables(storage).get(name) ?? "").toBe("");
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
  },
);

test("S2: a run is in no table of the SDK's, alive, ended or deleted with its session", async () => {
  const gate = makeGate();
  const made = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "short");
  });
  const mentions = (): Promise<string[]> =>
    inside(made, (_manager, _agent, storage) =>
      [...everyTable(storage)]
        .filter(([, text]) => holds(text) || /compaction-[0-9a-f]{8}-/.test(text))
        .map(([name]) => name),
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
    for (const [name, text] of before) expect(isFilled(name, text), `before, ${name}`).toBe(true);
    expect(before.get("palimpsest_runs")).toContain(`"focus":"${WORD}"`);
    await manager.clearMessages(SESSION);
    const kept = /^palimpsest_(?:blocks|prompts|block_entries|block_index_data)$/;
    for (const [name, text] of tables(storage)) {
      if (kept.test(name)) expect(text, name).toBe(before.get(name));
      else expect(text.includes(WORD), name).toBe(false);
    }
    for (const name of NUMBERS) expect(tables(storage).get(name) ?? "").toBe("");
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
  const told = await agent.compactionStep(run.id, "outline", [{ step: "plan the cut", attempt: 1 }, []]);
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
    await session.appendAll(talk(0, 17));
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

test("a session that has blocks and no message is deleted, and says so once (S2)", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("only-blocks");
    session.withContext("memory");
    await session.replaceContextBlock("memory", "Ada likes rows.");
    expect(await manager.delete("only-blocks")).toBe(true);
    expect(await manager.delete("only-blocks")).toBe(false);
    expect(await manager.getSession("only-blocks").context.getContextBlock("memory")).toMatchObject({ content: "" });
  });
});
