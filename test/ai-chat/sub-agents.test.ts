/** Agents that another agent made with `subAgent()`. They have no binding. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { talk } from "../conversation.ts";
import { makeGate, scriptModel, summaryOf } from "../scripted-model.ts";
import { Family } from "./worker.ts";

skipRetryDelays();

let families = 0;

/** A root, and under it as many agents as said, each made by the one before. */
function newFamily(generations: number) {
  const n = families++;
  const path = Array.from({ length: generations }, (_, each) => `chat-family${n}-${each}`);
  return { path, stub: env.Family.get(env.Family.idFromName(`chat-family${n}`)) };
}

async function ended(stub: DurableObjectStub<Family>, path: readonly string[]): Promise<RunRecord[]> {
  for (;;) {
    const list = (await stub.runsOf(path)) as RunRecord[];
    if (list.length > 0 && list.every((run) => run.outcome !== null)) return list;
    await scheduler.wait(1);
  }
}

test.each([1, 2])("an agent %i levels under its root compacts like any other", async (generations) => {
  const { path, stub } = newFamily(generations);
  scriptModel(path.at(-1) ?? "", (prompt) => summaryOf(prompt, "What was said is told here."));
  await stub.store(path, talk(0, 40));
  expect((await ended(stub, path))[0]?.outcome).toMatchObject({ kind: "applied" });
  const view = await stub.viewOf(path);
  expect(view).toContain("What was said is told here.");
  expect(view).not.toContain("Message 10:");
});

interface Descent {
  _cf_invokeAgentPath(path: unknown, method: string, args: readonly unknown[]): unknown;
}

test("a sub-agent that is deleted while its run is at work: the Workflow ends at once and says why", async () => {
  const { path, stub } = newFamily(1);
  const [child = ""] = path;
  const gate = makeGate();
  scriptModel(child, async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "Too late.");
  });
  await stub.store(path, talk(0, 40));
  await gate.reached();
  const [run] = (await stub.runsOf(path)) as RunRecord[];
  const instance = await env.COMPACTION_WORKFLOW.get(run?.id ?? "");
  await runInDurableObject(stub, async (agent) => agent.deleteSubAgent(Family, child));
  // The SDK's own call into a sub-agent, which a Workflow's steps go through.
  const calls = vi.spyOn(Family.prototype as unknown as Descent, "_cf_invokeAgentPath");
  gate.open();
  for (;;) {
    const { status, output } = await instance.status();
    if (status === "complete") {
      expect(output).toMatchObject({ kind: "failed", code: "agent-gone" });
      const sent = calls.mock.calls.filter(([, , [, step]]) => step === "saveDraft");
      expect(sent).toHaveLength(1);
      return calls.mockRestore();
    }
    expect(status).not.toBe("errored");
    await scheduler.wait(1);
  }
});
