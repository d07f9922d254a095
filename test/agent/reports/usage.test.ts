/** A provider's count changes when a session compacts and what size it reports, but never the stored messages. */
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import type { FullSession } from "../../rooms.ts";
import { MAX_CALL_TOKENS, type UsageReport } from "../../../src/agent/reports/usage-report.ts";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { summaryOf } from "../../scripted-model.ts";
import { rowsOf } from "../../rows.ts";

skipRetryDelays();

/** An agent whose session holds `messages` messages of some hundred tokens each. Its threshold is 2,000. */
async function talked(messages: number) {
  const made = newAgent((prompt) => summaryOf(prompt, "done"));
  if (messages > 0) await made.agent.appendAll({ messages: talk(0, messages) });
  const within = <T>(work: (session: FullSession) => Promise<T>): Promise<T> =>
    runInDurableObject(made.stub, (agent) => work(Session.create(agent)));
  return { ...made, within, record: (report: UsageReport) => within((session) => session.recordUsage(report)) };
}

test("a count over the threshold starts a run, and its plan agrees that there is something to do", async () => {
  const { agent, record } = await talked(14);
  const before = await agent.status({});
  expect(before.viewTokens).toBeLessThan(2_000);
  await record({ inputTokens: 2_600, model: "m" });
  expect(await agent.status({})).toMatchObject({ viewTokens: 2_600 });
  const [run] = await agent.runs({});
  const ended = await agent.waitForRun({ runId: run?.id ?? "" });
  expect(ended).toMatchObject({ tokensBefore: 2_600, outcome: { kind: "applied", tokensBefore: 2_600 } });
  const { viewTokens } = await agent.status({});
  expect(ended.outcome).toMatchObject({ tokensAfter: viewTokens });
  expect(viewTokens).toBeLessThan(2_600);
});

test("a client far away may tell what a call was counted at, and ask what all came to", async () => {
  const { agent } = await talked(4);
  await agent.recordUsage({ inputTokens: 700, outputTokens: 30, cost: 0.25, model: "m" });
  expect(await agent.status({})).toMatchObject({ viewTokens: 700 });
  expect(await agent.getUsage({})).toMatchObject([{ model: "m", calls: 1, inputTokens: 700, outputTokens: 30 }]);
  expect(await agent.getSessionInfo({})).toMatchObject({ inputTokens: 700, outputTokens: 30, cost: 0.25 });
});

test("the next append is held against the threshold as the provider would count it", async () => {
  const { agent, record } = await talked(6);
  const { viewTokens } = await agent.status({});
  const aMessage = viewTokens / 6;
  await record({ inputTokens: Math.round(2_000 - 1.5 * aMessage) });
  await agent.append({ message: say(6) });
  expect(await agent.runs({})).toHaveLength(0);
  await agent.append({ message: say(7) });
  expect(await agent.runs({})).toMatchObject([{ trigger: "threshold" }]);
});

test("messages and views keep their own estimates, whatever was counted", async () => {
  const { agent, record } = await talked(6);
  const before = await agent.getView({});
  await record({ inputTokens: 1_900 });
  expect(await agent.getView({})).toEqual(before);
  expect((await agent.plan({ manual: true })).viewTokens).toBe(1_900);
});

test("each model is counted by itself, and the one that was called last speaks for the session", async () => {
  const { agent, within, record } = await talked(6);
  await record({ inputTokens: 1_500, outputTokens: 10, model: "a" });
  await record({ inputTokens: 900, model: "b" });
  await record({ inputTokens: 1_600, outputTokens: 5, model: "a" });
  expect(await agent.status({})).toMatchObject({ viewTokens: 1_600 });
  const usage = await within((session) => session.getUsage());
  expect(usage).toMatchObject([
    { model: "a", calls: 2, inputTokens: 3_100, outputTokens: 15 },
    { model: "b", calls: 1, inputTokens: 900, outputTokens: 0 },
  ]);
});

test("what was learned outlives the object", async () => {
  const { agent, stub, within, record } = await talked(6);
  await record({ inputTokens: 1_234 });
  await agent.append({ message: say(6) });
  const before = await agent.status({});
  await evictDurableObject(stub);
  expect(await within((session) => session.status())).toEqual(before);
});

function sums(inputTokens: number, outputTokens: number, cost: number) {
  return { inputTokens, outputTokens, cost };
}

test("a call that is recorded is in the session's sums as well, once; what else was spent is added by hand", async () => {
  const { agent, stub, record } = await talked(6);
  const { id } = await agent.createSession({ name: "another" });
  await record({ inputTokens: 1_500, outputTokens: 10, model: "a", cost: 0.5 });
  await record({ inputTokens: 900, model: "b" });
  expect(await agent.getSessionInfo({})).toMatchObject(sums(2_400, 10, 0.5));
  // Aborted before the prompt was counted. It was paid for, and calibrates nothing.
  await record({ inputTokens: 0, outputTokens: 3, cost: 0.25 });
  await agent.addUsage({ inputTokens: 100, outputTokens: 1, cost: 1 });
  expect(await agent.getSessionInfo({})).toMatchObject(sums(2_500, 14, 1.75));
  expect(await agent.getSessionInfo({ sessionId: id })).toMatchObject(sums(0, 0, 0));
  await runInDurableObject(stub, async (object) => {
    const usage = await Session.create(object).getUsage();
    expect(usage.map(({ model, inputTokens }) => [model, inputTokens])).toEqual([
      ["b", 900],
      ["a", 1_500],
    ]);
  });
});

test("a call that was broken off before it began (0) says nothing", async () => {
  const { agent, within, record } = await talked(6);
  const before = await agent.status({});
  await record({ inputTokens: 0 });
  expect(await agent.status({})).toEqual(before);
  expect(await within((session) => session.getUsage())).toEqual([]);
});

test("bad input is refused before anything is written", async () => {
  const { agent, stub, within } = await talked(6);
  const refused = await runInDurableObject(stub, async (object) => {
    const reports: Partial<UsageReport>[] = [
      { inputTokens: -1 },
      { inputTokens: Number.NaN },
      { inputTokens: 1.5 },
      {},
      { inputTokens: 1, outputTokens: -1 },
      { inputTokens: 1, viewTokens: Number.NaN },
      { inputTokens: MAX_CALL_TOKENS + 1 },
      { inputTokens: 1, outputTokens: Number.MAX_SAFE_INTEGER },
      { inputTokens: 1, model: "m".repeat(1_000) },
      { inputTokens: 1, cost: -1 },
      { inputTokens: 1, cost: Number.POSITIVE_INFINITY },
      { inputTokens: 1, cost: "1" as never },
      { inputTokens: 1, leafId: "nobody" },
    ];
    const said = reports.map((report) => Session.create(object).recordUsage(report as UsageReport));
    const empty = Session.create(object).forSession("empty").recordUsage({ inputTokens: 1 });
    return (await Promise.allSettled([...said, empty])).map((each) =>
      each.status === "rejected" ? (each.reason as Error).message.slice(0, 15) : each.status,
    );
  });
  expect(refused).toEqual([
    ...Array.from({ length: 12 }, () => "[invalid_input]"),
    "[unknown_leaf] ",
    "[invalid_input]",
  ]);
  expect(await within((session) => session.getUsage())).toEqual([]);
  expect(await agent.getSessionInfo({})).toMatchObject({ inputTokens: 0, outputTokens: 0, cost: 0 });
});

test("a deleted session leaves no usage behind (S2), and no other session sees it (S1)", async () => {
  const { stub } = await talked(0);
  await runInDurableObject(stub, async (agent, state) => {
    const [one, other] = ["one", "other"].map((id) => Session.create(agent).forSession(id));
    for (const session of [one!, other!]) await session.appendAll(talk(0, 4));
    await one!.recordUsage({ inputTokens: 1_500 });
    expect(await other!.getUsage()).toEqual([]);
    expect((await other!.status()).viewTokens).toBeLessThan(600);
    await SessionManager.create(agent).delete("one");
    expect(await one!.getUsage()).toEqual([]);
    expect(rowsOf(state.storage, "palimpsest_usage")).toEqual([]);
  });
});

test("an append under the threshold reads no row for it once it is warm, and recording writes two, and one for the room of costs", async () => {
  const { stub } = await talked(6);
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent);
    const { meter } = agent.palimpsest.db;
    const spent = async (work: () => Promise<unknown>) => {
      const before = { ...meter };
      await work();
      return { read: meter.rowsRead - before.rowsRead, written: meter.rowsWritten - before.rowsWritten };
    };
    await session.appendMessage(say(6));
    const without = await spent(() => session.appendMessage(say(7)));
    expect((await spent(() => session.recordUsage({ inputTokens: 1_000 }))).written).toBe(3);
    await session.appendMessage(say(8));
    expect(await spent(() => session.appendMessage(say(9)))).toEqual(without);
  });
});
