/** The platform of these tests is as strict as production, and nothing of a long conversation exceeds its limits. */
import { runInDurableObject } from "cloudflare:test";
import { env, type WorkflowStep } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { settle } from "../agent/runs.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import {
  breaches,
  checkStatement,
  checkStretch,
  checkSubrequests,
  LIMITS,
  strictStep,
  strictWorkflow,
} from "../strict.ts";

skipRetryDelays();

afterEach(() => void breaches.splice(0));

test.each<readonly [string, () => unknown]>([
  ["a value of 2000001 bytes", () => checkStatement("SELECT ?", ["x".repeat(LIMITS.valueBytes + 1)])],
  [
    "101 parameters",
    () =>
      checkStatement(
        "SELECT 1",
        Array.from({ length: LIMITS.parameters + 1 }, () => 1),
      ),
  ],
  ["a statement of", () => checkStatement(`SELECT '${"x".repeat(LIMITS.statementBytes)}'`, [])],
  [
    "a row of 2400000 bytes",
    () => checkStatement("INSERT INTO t VALUES (?, ?)", ["x".repeat(1_200_000), "y".repeat(1_200_000)]),
  ],
  ["30001 ms without a pause", () => checkStretch({ began: 1_000, bytes: 0 }, 1_001 + LIMITS.callMs)],
  ["128000001 bytes read without a pause", () => checkStretch({ began: 0, bytes: LIMITS.memoryBytes + 1 }, 0)],
  [
    "10001 subrequests of busy",
    () => {
      checkSubrequests("busy", LIMITS.subrequests);
      checkSubrequests("busy", 1);
    },
  ],
])("refuses %s", (what, work) => {
  expect(work).toThrow(`Production refuses this: ${what}`);
  expect(breaches).toHaveLength(1);
});

test("refuses names, results, ids and params that production refuses", async () => {
  const step = strictStep({ do: async (_: string, work: () => unknown) => work() } as unknown as WorkflowStep);
  expect(await refusalOf(async () => step.do("x".repeat(257), async () => 1))).toContain("step name of 257");
  expect(await refusalOf(async () => step.do("big", async () => "x".repeat(LIMITS.resultBytes)))).toContain(
    "step result",
  );
  const many = Array.from({ length: LIMITS.connections + 1 }, (_, n) => step.do(`${n}`, async () => scheduler.wait(1)));
  expect(await refusalOf(async () => Promise.all(many))).toContain("7 connections at once");
  const workflow = strictWorkflow({ create: async () => ({}), get: async () => ({}) } as unknown as Workflow);
  expect(await refusalOf(async () => workflow.create({ id: "a:b" }))).toContain('instance id "a:b"');
  expect(await refusalOf(async () => workflow.create({ id: "p", params: "x".repeat(LIMITS.paramsBytes) }))).toContain(
    "params of",
  );
  await workflow.create({ id: "twice", params: { n: 1 } });
  expect(await refusalOf(async () => workflow.create({ id: "twice", params: { n: 1 } }))).toContain("already_exists");
  expect(await refusalOf(async () => workflow.create({ id: "twice", params: { n: 2 } }))).toContain("for another run");
});

test("an object's own statements go through it", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, (_, { storage }) => {
    expect(() => storage.sql.exec("SELECT ?", "x".repeat(LIMITS.valueBytes + 1))).toThrow("Production refuses this");
  });
  const most = Math.ceil(LIMITS.memoryBytes / LIMITS.valueBytes);
  await runInDurableObject(stub, async (_, { storage }) => {
    const read = (): unknown => storage.sql.exec("SELECT ? AS text", "x".repeat(LIMITS.valueBytes)).toArray();
    for (let n = 0; n <= most; n++) {
      read();
      await scheduler.wait(0);
    }
    expect(() => {
      for (let n = 0; n <= most; n++) read();
    }).toThrow("bytes read without a pause");
  });
  expect(env.COMPACTION_WORKFLOW).toBeDefined();
});

test("a long conversation with a message of megabytes, its search, fork and deletion exceed no limit", async () => {
  const { agent } = newAgent();
  for (let at = 0; at < 120; at += 20) {
    await agent.appendAll({ messages: talk(at, at + 20) });
    await settle(agent, "");
  }
  await agent.append({ message: { ...say(120), parts: [{ type: "text", text: "wörter".repeat(700_000) }] } });
  await agent.appendAll({ messages: talk(121, 140) });
  await settle(agent, "");
  await agent.search({ query: "parser" });
  const { id } = await agent.forkSession({ sessionId: "", atMessageId: "m139" });
  await agent.deleteSession({ sessionId: id });
  expect((await agent.getCompactions({})).length).toBeGreaterThan(2);
  expect(breaches).toEqual([]);
});
