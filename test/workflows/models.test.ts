/** The model that writes a summary. It is the session's choice, the fallback, or the model for parts. */
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { scriptModel, summaryOf, type Script } from "../scripted-model.ts";

skipRetryDelays();

const tells =
  (words: string): Script =>
  (prompt) =>
    summaryOf(prompt, words);

test("a session's choice of a model reaches the Workflow by its name", async () => {
  const { agent, name, calls } = newAgent(tells("from the usual model"));
  const cheap = scriptModel(`${name}/cheap`, tells("from the cheap one"));
  const ended = await agent.waitForRun({ runId: (await startRun(agent, "by cheap")).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(ended.policy.model).toBe("cheap");
  expect(cheap.length).toBeGreaterThan(0);
  expect(calls).toEqual([]);
  const [overlay] = await agent.getCompactions({ sessionId: "by cheap" });
  expect(overlay?.summary).toContain("from the cheap one");
});

test("parts are written by the model for parts, and merged by the other", async () => {
  const { agent, name, calls } = newAgent(tells("merged"));
  const small = scriptModel(`${name}/chunks`, tells("a part"));
  const ended = await agent.waitForRun({ runId: (await startRun(agent, "!6000", 56)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(new Set(small.map(({ kind }) => kind))).toEqual(new Set(["chunk"]));
  expect(small.length).toBeGreaterThan(1);
  expect(new Set(calls.map(({ kind }) => kind))).toEqual(new Set(["merge"]));
});

test("a span that fits one call is no part: the model itself summarises it, not the one for parts", async () => {
  const { agent, name, calls } = newAgent(tells("the whole"));
  const small = scriptModel(`${name}/chunks`, tells("a part"));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk"]);
  expect(small).toEqual([]);
});

test("a choice that the Workflow does not know fails the run, and the reason says what was thrown (R1)", async () => {
  const { agent } = newAgent();
  const run = await startRun(agent, "by nobody's");
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended.outcome).toMatchObject({ kind: "failed", reason: expect.stringContaining("There is no such model.") });
});
