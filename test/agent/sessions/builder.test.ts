/** Sessions as an agent's own code declares them, and compaction by a function of the caller's own. */
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import type { FullSession } from "../../rooms.ts";
import { env } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { OwnFunction } from "../../../src/agent/settings.ts";
import { skipRetryDelays } from "../../agents.ts";
import { say, talk, textOf } from "../../conversation.ts";
import { makeGate } from "../../scripted-model.ts";
import type { BuiltAgent } from "../../worker.ts";

skipRetryDelays();

let agents = 0;

function throws(): never {
  throw new Error("no such store");
}

async function newBuilt(summarise?: OwnFunction) {
  const stub = env.BuiltAgent.get(env.BuiltAgent.idFromName(`built-${agents++}`));
  const inside = <T>(work: (instance: BuiltAgent) => T | Promise<T>): Promise<T> =>
    runInDurableObject(stub, (instance: BuiltAgent) => work(instance));
  if (summarise !== undefined) {
    await inside((instance) => {
      instance.summarise = summarise;
    });
  }
  return { stub, inside, agent: stub as unknown as BuiltAgent };
}

/** Fills the inline session beyond its threshold and returns the run that this started. */
async function startInline(agent: BuiltAgent) {
  await agent.appendAll({ sessionId: "inline", messages: talk(0, 17) });
  const [run] = await agent.runs({ sessionId: "inline" });
  return run;
}

test("builder calls may come in any order, and configure no session but their own (S1)", async () => {
  const { agent } = await newBuilt();
  const thresholds = await Promise.all(
    ["name-first", "name-last", "inline", "", "other"].map((sessionId) => agent.status({ sessionId })),
  );
  expect(thresholds.map((status) => status.thresholdTokens)).toEqual([2_000, 3_000, 2_000, null, null]);
});

test("what one handle was told holds for another handle of the session at once", async () => {
  const { inside } = await newBuilt();
  const threshold = await inside(async (instance) => {
    Session.create(instance).forSession("two").compactAfter(4_000);
    return (await Session.create(instance).forSession("two").status()).thresholdTokens;
  });
  expect(threshold).toBe(4_000);
});

test("a block that cannot be declared is refused at every use of its session, by every handle, and of no other (S1)", async () => {
  const { inside, agent } = await newBuilt();
  await inside(async (instance) => {
    const session = (id: string) => Session.create(instance).forSession(id);
    const provider = { get: async () => null, set: async () => undefined };
    const one = session("one").withContext("memory", { provider });
    const two = session("two").withContext("memory", { provider }).compactAfter(2_000);
    const three = session("three").withContext("soul", { provider: throws });
    const four = session("four").withCachedPrompt(throws);
    // Sessions that no call names are declared now. That must not throw where nobody catches it.
    await scheduler.wait(0);
    const uses = (used: FullSession) => [
      used.appendMessage(say(0)),
      used.getView(),
      used.status(),
      used.tools(),
      used.freezeSystemPrompt(),
      session(used.id).getContextBlocks(),
      session(used.id).compactAfter(9_000).clearMessages(),
      instance.append({ sessionId: used.id, message: say(0) }),
    ];
    for (const [used, code] of [
      [two, "invalid_options"],
      [three, "provider_failed"],
      [four, "provider_failed"],
      [two, "invalid_options"],
    ] as const) {
      for (const [at, use] of (await Promise.allSettled(uses(used))).entries()) {
        expect(use, `use ${at} of ${used.id}`).toMatchObject({ status: "rejected", reason: { code } });
      }
      expect(instance.palimpsest.memory.session(used.id).leafId()).toBeNull();
    }
    expect(await Promise.all(uses(one))).toHaveLength(8);
  });
  await agent.append({ sessionId: "five", message: say(0) });
});

test("what a tool could not do is told to whom the session names, and to the manager's with the session (S1)", async () => {
  const { inside } = await newBuilt();
  const told: string[] = [];
  await inside(async (instance) => {
    const down = { get: async () => null, load: () => Promise.reject(new Error("down")) };
    SessionManager.create(instance)
      .withContext("skills", { provider: down })
      .onToolError((error, sessionId) => void told.push(`${sessionId}: ${error.code}`));
    const own = Session.create(instance).forSession("own");
    own.withContext("skills", { provider: down }).onToolError(async (error) => {
      told.push(error.code);
      throw error;
    });
    for (const session of [own, Session.create(instance).forSession("any")]) {
      const load = (await session.tools())["load_context"]?.execute;
      const answer: unknown = await load?.(
        { label: "skills", key: "k" },
        { toolCallId: "t", messages: [], context: {} },
      );
      expect(answer).toMatch(/^Not done\. .*down/);
    }
  });
  expect(told).toEqual(["provider_failed", "any: provider_failed"]);
});

test("settings come from code again after an eviction", async () => {
  const { agent, stub } = await newBuilt();
  await agent.append({ sessionId: "name-first", message: say(0) });
  await evictDurableObject(stub);
  expect(await agent.status({ sessionId: "name-first" })).toMatchObject({ thresholdTokens: 2_000, leafId: "m0" });
});

test("a class with compaction mixed in keeps its own methods, and its sessions run durably", async () => {
  const { agent } = await newBuilt();
  expect(await agent.note("hello")).toBe("noted: hello");
  await agent.appendAll({ sessionId: "name-first", messages: talk(0, 17) });
  const [run] = await agent.runs({ sessionId: "name-first" });
  expect(await agent.waitForRun({ runId: run?.id ?? "" })).toMatchObject({ outcome: { kind: "applied" } });
});

test("a function's summary is committed through the same fence and ledger (C2, V3)", async () => {
  const { agent } = await newBuilt(async (messages) => ({
    summary: `by hand, of ${messages.length}`,
    fromMessageId: messages[1]?.id ?? "",
    toMessageId: messages[9]?.id ?? "",
  }));
  const run = await startInline(agent);
  const ended = await agent.waitForRun({ runId: run?.id ?? "" });
  expect(ended).toMatchObject({ outcome: { kind: "applied", degraded: false } });
  expect(textOf((await agent.getView({ sessionId: "inline" })).messages)).toContain("by hand, of 17");
  expect(await agent.getHistory({ sessionId: "inline" })).toHaveLength(17 - 9 + 1);
});

test("an append does not wait for the function", async () => {
  const gate = makeGate();
  const { agent } = await newBuilt(async () => {
    await gate.pass();
    return null;
  });
  const run = await startInline(agent);
  await agent.append({ sessionId: "inline", message: say(17) });
  expect((await agent.getRun({ runId: run?.id ?? "" })).outcome).toBeNull();
  gate.open();
  expect(await agent.waitForRun({ runId: run?.id ?? "" })).toMatchObject({
    outcome: { kind: "nothing", reason: "declined" },
  });
});

test("a function that throws is a failed run, reported once (R1)", async () => {
  const { agent, inside } = await newBuilt(async () => {
    throw new Error("no idea");
  });
  const run = await startInline(agent);
  const ended = await agent.waitForRun({ runId: run?.id ?? "" });
  expect(ended.outcome).toEqual({ kind: "failed", code: "threw", reason: "no idea" });
  await agent.watchCompactions();
  const reported = await inside((instance) => instance.reported);
  expect(reported).toEqual([{ message: expect.stringContaining("no idea"), runId: run?.id }]);
});

test.each([
  ["names messages that do not exist", { summary: "s", fromMessageId: "nobody", toMessageId: "m5" }, "failed"],
  ["names its range backwards", { summary: "s", fromMessageId: "m5", toMessageId: "m3" }, "failed"],
  ["is larger than its range", { summary: "long ".repeat(5_000), fromMessageId: "m1", toMessageId: "m3" }, "stale"],
  ["is empty", { summary: " ", fromMessageId: "m1", toMessageId: "m3" }, "nothing"],
])("a function's summary that %s changes no view and ends its run (V3, R1)", async (_what, summary, kind) => {
  const { agent } = await newBuilt(async () => summary);
  const run = await startInline(agent);
  expect((await agent.waitForRun({ runId: run?.id ?? "" })).outcome).toMatchObject({ kind });
  expect(await agent.getHistory({ sessionId: "inline" })).toEqual(talk(0, 17));
});

test("messages that changed while the function thought are not covered by its summary (C3)", async () => {
  const gate = makeGate();
  const { agent } = await newBuilt(async () => {
    await gate.pass();
    return { summary: "of the old text", fromMessageId: "m1", toMessageId: "m9" };
  });
  const run = await startInline(agent);
  await gate.reached();
  await agent.update({ sessionId: "inline", message: say(4, "CORRECTED. ") });
  gate.open();
  expect((await agent.waitForRun({ runId: run?.id ?? "" })).outcome).toMatchObject({
    kind: "stale",
    reason: "changed",
  });
  expect(await agent.getMessage({ sessionId: "inline", id: "m4" })).toEqual(say(4, "CORRECTED. "));
});

test("messages beside the range may change while the function thinks", async () => {
  const gate = makeGate();
  const { agent } = await newBuilt(async () => {
    await gate.pass();
    return { summary: "of the middle", fromMessageId: "m1", toMessageId: "m9" };
  });
  const run = await startInline(agent);
  await gate.reached();
  await agent.update({ sessionId: "inline", message: say(0, "head ") });
  await agent.update({ sessionId: "inline", message: say(16, "leaf ") });
  gate.open();
  expect((await agent.waitForRun({ runId: run?.id ?? "" })).outcome).toMatchObject({ kind: "applied" });
});

test("what was appended while the function thought starts its next run when it ends (R2)", async () => {
  const gate = makeGate();
  let calls = 0;
  const { agent } = await newBuilt(async () => {
    if (calls++ === 0) await gate.pass();
    return null;
  });
  const run = await startInline(agent);
  await gate.reached();
  await agent.appendAll({ sessionId: "inline", messages: talk(17, 40) });
  gate.open();
  await agent.waitForRun({ runId: run?.id ?? "" });
  const [next] = await agent.runs({ sessionId: "inline" });
  expect(next?.n).toBe(2);
  expect(await agent.waitForRun({ runId: next?.id ?? "", timeoutMs: 2_000 })).toMatchObject({
    outcome: { kind: "nothing" },
  });
});
