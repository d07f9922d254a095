/** A chunk that is shorter than the headings of its summary is summarised whole, at the first try. */
import { expect, test } from "vitest";
import { newAgent } from "../agents.ts";
import { say, talk } from "../conversation.ts";

const long = (n: number) => say(n, "The log says that a page was read. ".repeat(400));

test("a small chunk beside a large one is not refused for being no smaller than its source (R3, V3)", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ messages: talk(0, 3) });
  const rule = { ...say(4), parts: [{ type: "text" as const, text: "Never touch vendor/zlib.c." }] };
  await agent.appendAll({ messages: [long(3), rule, long(5), ...talk(6, 16)] });
  const [first] = await agent.runs({});
  const run = await agent.waitForRun({ runId: first?.id ?? "" });
  expect(Math.min(...(run.plan?.chunks.map((chunk) => chunk.tokens) ?? []))).toBeLessThan(64);
  expect(run.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(run.steps.filter((step) => /^(?:repair|extract)/.test(step.name))).toEqual([]);
});
