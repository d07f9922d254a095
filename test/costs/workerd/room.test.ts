/** The room of costs on a real agent. It counts each recorded call once, keeps no words, and estimates the bill without compaction. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { generateText, isStepCount, tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { compactedTurn } from "../../../src/sessions-source/turn.ts";
import { keepTurn } from "../../../src/turn/turn.ts";
import { inside } from "../../agent/inside.ts";
import { looker } from "../../agent/looker.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { rowsOf } from "../../rows.ts";
import { summaryOf } from "../../scripted-model.ts";

skipRetryDelays();

test("calls are summed by what a provider charges for, and so are the summariser's, once each", async () => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 14) });
  await agent.recordUsage({ inputTokens: 2_600, outputTokens: 40, writtenTokens: 2_500, model: "big" });
  const [run] = await agent.runs({});
  await agent.waitForRun({ runId: run?.id ?? "" });
  await agent.recordUsage({
    inputTokens: 1_500,
    outputTokens: 40,
    cachedTokens: 300,
    writtenTokens: 1_200,
    model: "big",
  });
  const costs = await agent.getCosts({});
  expect(costs.agent).toMatchObject([
    { model: "big", calls: 2, inputTokens: 4_100, cachedTokens: 300, writtenTokens: 3_700, outputTokens: 80 },
  ]);
  const [summariser] = costs.summarisers;
  const { modelCalls, inputTokens, outputTokens } = await agent.getRun({ runId: run?.id ?? "" });
  expect(summariser).toMatchObject({ calls: modelCalls, inputTokens, outputTokens });
  // The second prompt would have had the hidden messages as well.
  expect(costs.withoutCompaction.inputTokens).toBeGreaterThan(2_600 + 1_500 + 300);
  expect(costs).toMatchObject({ total: null, unpriced: ["big", summariser?.model] });
  expect(await agent.getUsage({})).toMatchObject([{ model: "big", calls: 2 }]);
  await evictDurableObject(stub);
  expect(await agent.getCosts({})).toEqual(costs);
  const rows = await runInDurableObject(stub, (_, { storage }) => rowsOf(storage, "palimpsest_costs"));
  expect(JSON.stringify(rows)).not.toContain("changed");
});

test("where nothing was compacted, nothing was spared", async () => {
  const { agent } = newAgent();
  for (let n = 0; n < 4; n++) {
    await agent.appendAll({ messages: talk(n * 2, 2) });
    await agent.recordUsage({ inputTokens: 300 * (n + 1), model: "big" });
  }
  expect((await agent.getCosts({})).withoutCompaction).toMatchObject({ inputTokens: 300 + 600 + 900 + 1_200 });
});

test.each([false, true])(
  "what was deleted or shortened before a call was not in its prompt, and nothing of it was spared; after a wake-up: %s",
  async (wakes) => {
    const { agent, stub } = newAgent();
    const whole: number[] = [];
    const record = async (model: string): Promise<void> => {
      const before = (await agent.getCosts({})).withoutCompaction.inputTokens;
      await agent.recordUsage({ inputTokens: 100, viewTokens: (await agent.getView({})).tokens, model });
      whole.push((await agent.getCosts({})).withoutCompaction.inputTokens - before);
    };
    await agent.appendAll({ messages: talk(0, 10) });
    for (const model of ["big", "small"]) await record(model);
    await agent.deleteMessages({ ids: [say(2).id, say(3).id] });
    await agent.update({ message: { ...say(4), parts: [{ type: "text", text: "short" }] } });
    if (wakes) await evictDurableObject(stub);
    await agent.appendAll({ messages: talk(10, 2) });
    for (const model of ["big", "small", "big"]) await record(model);
    expect(whole).toEqual([100, 100, 100, 100, 100]);
  },
);

test("a call reads the messages since the one before, after a wake-up as well, and edits before it write one row", async () => {
  const found: number[] = [];
  for (const messages of [20, 200]) {
    const made = newAgent(null);
    await made.agent.appendAll({ messages: talk(0, messages) });
    await made.agent.recordUsage({ inputTokens: 100, model: "big" });
    await evictDurableObject(made.stub);
    await inside(made, async (manager, { palimpsest: { memory } }) => {
      const session = manager.getSession("");
      const { meter } = memory.db;
      const rowsOf = async (work: () => Promise<unknown>): Promise<{ read: number; written: number }> => {
        const { rowsRead, rowsWritten } = meter;
        await work();
        return { read: meter.rowsRead - rowsRead, written: meter.rowsWritten - rowsWritten };
      };
      for (const message of talk(messages, 2)) await session.appendMessage(message);
      // The size of the view is known as well, which an object reads once.
      memory.session("").tokens();
      found.push((await rowsOf(() => session.recordUsage({ inputTokens: 100, model: "big" }))).read);
      const edit = (text: string) => session.updateMessage({ ...say(4), parts: [{ type: "text", text }] });
      const first = await rowsOf(() => edit("one"));
      const second = await rowsOf(() => edit("two"));
      expect(first.written - second.written).toBe(1);
    });
  }
  expect(found[1]).toBeLessThan((found[0] ?? 0) + 5);
});

test("a reply that is stored before its usage is recorded was not in the prompt", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const spared = [];
  for (const order of ["recorded first", "stored first"]) {
    const { id: sessionId } = await agent.createSession({ name: order });
    await agent.appendAll({ sessionId, messages: talk(0, 17) });
    const [run] = await agent.runs({ sessionId });
    await agent.waitForRun({ runId: run?.id ?? "" });
    const { tokens: viewTokens } = await agent.getView({ sessionId });
    const record = () => agent.recordUsage({ sessionId, inputTokens: viewTokens, viewTokens, model: "big" });
    const store = () => agent.appendAll({ sessionId, messages: [say(17)] });
    for (const step of order === "recorded first" ? [record, store] : [store, record]) await step();
    spared.push((await agent.getCosts({ sessionId })).withoutCompaction.inputTokens - viewTokens);
  }
  expect(spared[0]).toBeGreaterThan(500);
  expect(spared[1]).toBe(spared[0]);
});

/** Three steps with a tool, and one more without it. */
const STEPS = 3;
const PROMPTS = Array.from({ length: STEPS + 1 }, (_, step) => 1_000 + 100 * step).reduce((sum, each) => sum + each, 0);
const lookAt = tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `${n} `.repeat(500) });
const looking = () => ({ model: looker(STEPS), tools: { look: lookAt }, stopWhen: isStepCount(9) });

test("a turn's own steps are not counted as spared, whoever stores them", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (own) => {
    const manager = SessionManager.create(own);
    const begin = async (id: string) => {
      const session = manager.getSession(`${id}!100000000`);
      await session.appendAll([
        ...talk(0, 5),
        { id: "reply", role: "assistant", parts: [{ type: "text", text: "So." }] },
      ]);
      return session;
    };
    const kept = await begin("kept");
    await generateText({ ...looking(), prompt: "-", ...keepTurn(kept, { replyId: "reply" }) });
    expect((await kept.getCosts()).withoutCompaction.inputTokens).toBe(PROMPTS);

    // A host goes on with a stored reply, and stores each step before the turn records it.
    const hosted = await begin("hosted");
    const turn = await compactedTurn(hosted, {}, { fallback: () => [] });
    const storeFirst: typeof turn.onStepEnd = async (step) => {
      const reply = await hosted.getMessage("reply");
      const text = JSON.stringify(step.content);
      if (reply !== null) await hosted.updateMessage({ ...reply, parts: [...reply.parts, { type: "text", text }] });
      await turn.onStepEnd(step);
    };
    await generateText({ ...looking(), ...turn, onStepEnd: storeFirst });
    expect((await hosted.getCosts()).withoutCompaction.inputTokens).toBe(PROMPTS);
  });
});

test("a clear keeps the sums, because what was paid stays paid and they hold no word", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ messages: talk(0, 2) });
  await agent.recordUsage({ inputTokens: 200, model: "big" });
  const before = await agent.getCosts({});
  await agent.clearMessages({});
  expect(await agent.getCosts({})).toEqual(before);
});

test("a session that is deleted leaves no sum, and one without calls has none", async () => {
  const { agent, stub } = newAgent();
  expect(await agent.getCosts({})).toMatchObject({ agent: [], summarisers: [], total: 0 });
  const { id: gone } = await agent.createSession({ name: "gone" });
  await agent.appendAll({ sessionId: gone, messages: talk(0, 2) });
  await agent.recordUsage({ sessionId: gone, inputTokens: 200, cachedTokens: 50 });
  expect((await agent.getCosts({ sessionId: gone })).agent).toMatchObject([{ model: "", cachedTokens: 50 }]);
  await agent.deleteSession({ sessionId: gone });
  const rows = await runInDurableObject(stub, (_, { storage }) => rowsOf(storage, "palimpsest_costs"));
  expect(rows).toEqual([]);
});
