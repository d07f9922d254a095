/** A session's own compaction function is limited, controlled, checked and recorded like any other run. */
import { Session } from "../../src/agent/sessions/session.ts";
import { env } from "cloudflare:workers";
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { secretRules } from "../../src/redact/secret-rules.ts";
import type { OwnFunction, OwnFunctionContext } from "../../src/agent/settings.ts";
import { MAX_INSTANCE_RESTARTS } from "../../src/limits.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { settle } from "../agent/runs.ts";
import type { FullSession } from "../rooms.ts";
import { everyTable } from "../rows.ts";
import { noting, ofKind, rest, sayAll, SESSION } from "../noted.ts";
import { makeGate, openGates, summaryOf } from "../scripted-model.ts";
import type { BuiltAgent, PalimpsestAgent } from "../worker.ts";
import { MAX_FUNCTION_LIMIT_MS } from "../../src/own-function/room.ts";

skipRetryDelays();

afterEach(openGates);

let agents = 0;

const sessionId = "inline";
const SECRET = `ghp_${"a1B2c3D4e5F6g7H8i9J0".padEnd(36, "k")}`;

/** An agent without any Workflow for its session's runs, which a function of its own does. */
async function newBuilt(summarise: OwnFunction, options: { timeoutMs?: number } = {}) {
  const name = `own-function-${agents++}`;
  const stub = env.BuiltAgent.get(env.BuiltAgent.idFromName(name));
  const inside = <T>(work: (instance: BuiltAgent, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
    runInDurableObject(stub, (instance: BuiltAgent, { storage }) => work(instance, storage));
  await inside((instance) => {
    instance.summarise = summarise;
    instance.inlineFirst.onCompaction((messages, context) => instance.summarise(messages, context), options);
    instance.palimpsest.platform.instance = () => Promise.reject(new Error("[not_configured] No binding."));
  });
  return { name, inside, agent: stub as unknown as BuiltAgent };
}

/** The agent's object in its present life, because a stub of an earlier one is dead. */
function lifeOf(name: string): BuiltAgent {
  return env.BuiltAgent.get(env.BuiltAgent.idFromName(name)) as unknown as BuiltAgent;
}

async function functionOf(name: string, summarise: OwnFunction): Promise<void> {
  await runInDurableObject(env.BuiltAgent.get(env.BuiltAgent.idFromName(name)), (instance: BuiltAgent) => {
    instance.summarise = summarise;
  });
}

async function start(agent: BuiltAgent, from = 0): Promise<RunRecord> {
  await agent.appendAll({ sessionId, messages: talk(from, from + 17) });
  const [run] = await agent.runs({ sessionId });
  if (run === undefined) throw new Error("The append started no run.");
  return run;
}

test("a function that leaves most of a large tail in view is not asked again before the view has grown by a span (R4)", async () => {
  let calls = 0;
  const { agent } = await newBuilt(async (messages) => {
    calls++;
    return { summary: "They talked.", fromMessageId: messages[1]?.id ?? "", toMessageId: messages[3]?.id ?? "" };
  });
  await agent.appendAll({ sessionId, messages: talk(0, 30) });
  await settle(agent as unknown as PalimpsestAgent, sessionId);
  expect(calls).toBe(1);
  expect((await agent.getView({ sessionId })).tokens).toBeGreaterThan(2_000);
  await agent.append({ sessionId, message: say(30) });
  await settle(agent as unknown as PalimpsestAgent, sessionId);
  expect(calls).toBe(1);
  await agent.appendAll({ sessionId, messages: talk(31, 40) });
  await settle(agent as unknown as PalimpsestAgent, sessionId);
  expect(calls).toBe(2);
});

test("plan says that the function names the range, and nothing of what the workflow would do", async () => {
  const { agent } = await newBuilt(async () => null);
  await agent.appendAll({ sessionId, messages: talk(0, 4) });
  expect((await agent.plan({ sessionId })).plan).toMatchObject({ kind: "nothing", reason: "under-threshold" });
  const before = await agent.runs({ sessionId });
  for (const report of [
    await agent.plan({ sessionId, manual: true }),
    await agent.appendAll({ sessionId, messages: talk(4, 17) }).then(() => agent.plan({ sessionId })),
  ]) {
    expect(report).toMatchObject({
      plan: { kind: "nothing", reason: "own-function" },
      cost: { calls: 0 },
      modelTokens: 0,
      savedTokensPerCall: 0,
    });
    expect(report.expectedTokens).toBe(report.viewTokens);
    expect(report.lines.join(" ")).toContain("onCompaction");
    expect(report.lines.join(" ")).not.toMatch(/summariser|chunk/i);
  }
  expect(before).toEqual([]);
});

const cover = (summary: string, from = 1, to = 9): OwnFunction => {
  return async (messages) => ({
    summary,
    fromMessageId: messages[from]?.id ?? "",
    toMessageId: messages[to]?.id ?? "",
  });
};

/** Never settles by itself. `told` records the contexts that it was called with. */
function hangs(told: OwnFunctionContext[] = []): OwnFunction {
  return (_messages, context) => {
    told.push(context);
    return new Promise(() => undefined);
  };
}

describe("its time", () => {
  test("a function that never settles ends in a typed outcome, and its branch is compacted again afterwards (R1)", async () => {
    const told: OwnFunctionContext[] = [];
    const { agent, inside } = await newBuilt(hangs(told), { timeoutMs: 5 });
    const run = await start(agent);
    const ended = await agent.waitForRun({ runId: run.id });
    expect(ended.outcome).toEqual({ kind: "failed", code: "timed-out", reason: expect.stringContaining("5 ms") });
    expect(ended.steps).toMatchObject([{ name: "onCompaction", attempts: 1, endedAt: expect.any(Number) }]);
    expect(told).toMatchObject([{ sessionId, runId: run.id, trigger: "threshold", focus: null }]);
    expect(told[0]?.signal.aborted).toBe(true);
    await inside((instance) => {
      instance.summarise = cover("in time");
    });
    const again = await agent.compact({ sessionId, focus: "the parser" });
    expect((await agent.waitForRun({ runId: again.run.id })).outcome).toMatchObject({ kind: "applied" });
  });

  test("an answer that comes too late changes nothing (C1)", async () => {
    const gate = makeGate();
    const { agent } = await newBuilt(
      async (messages, context) => {
        await gate.pass();
        return cover("too late")(messages, context);
      },
      { timeoutMs: 5 },
    );
    const run = await start(agent);
    const ended = await agent.waitForRun({ runId: run.id });
    gate.open();
    await scheduler.wait(5);
    expect(await agent.getRun({ runId: run.id })).toEqual(ended);
    expect(await agent.getCompactions({ sessionId })).toEqual([]);
  });

  test("a limit that is none is refused where it is given", async () => {
    const { inside } = await newBuilt(async () => null);
    for (const timeoutMs of [0, -1, 1.5, Number.NaN, MAX_FUNCTION_LIMIT_MS + 1]) {
      const refused = await inside((instance) =>
        refusalOf(async () => Session.create(instance).onCompaction(async () => null, { timeoutMs })),
      );
      expect(refused, String(timeoutMs)).toContain("[invalid_options]");
    }
  });
});

describe("its control", () => {
  test("a run of a function is cancelled without any Workflow, and the function is told (R1)", async () => {
    const told: OwnFunctionContext[] = [];
    const { agent } = await newBuilt(hangs(told));
    const run = await start(agent);
    while (told.length === 0) await scheduler.wait(1);
    expect((await agent.cancelRun({ runId: run.id })).outcome).toEqual({ kind: "cancelled" });
    expect(told[0]?.signal.aborted).toBe(true);
    await agent.watchCompactions();
    expect((await agent.getRun({ runId: run.id })).outcome).toEqual({ kind: "cancelled" });
  });

  test("what cannot be paused says so, and goes on", async () => {
    const gate = makeGate();
    const { agent } = await newBuilt(async (messages, context) => {
      await gate.pass();
      return cover("done")(messages, context);
    });
    const { id: runId } = await start(agent);
    await gate.reached();
    for (const refused of [
      await refusalOf(() => agent.pauseRun({ runId })),
      await refusalOf(() => agent.resumeRun({ runId })),
      await refusalOf(() => agent.retryRunFrom({ runId, stepName: "onCompaction" })),
    ]) {
      expect(refused).toMatch(/^\[invalid_state\] .*onCompaction/);
    }
    expect((await agent.getRun({ runId })).state).toBe("running");
    gate.open();
    expect((await agent.waitForRun({ runId })).outcome).toMatchObject({ kind: "applied" });
  });

  test("a function whose object dies is called again a few times, and then its run fails with a code (R1)", async () => {
    const { name, agent } = await newBuilt(hangs());
    const { id: runId } = await start(agent);
    let died = 0;
    for (; (await lifeOf(name).getRun({ runId })).outcome === null && died < 10; died++) {
      await abortAllDurableObjects();
      await functionOf(name, hangs());
      // Once to find out, once to call it again.
      await lifeOf(name).watchCompactions();
      await lifeOf(name).watchCompactions();
    }
    const ended = await lifeOf(name).getRun({ runId });
    expect(ended.outcome).toMatchObject({ kind: "failed", code: "interrupted" });
    expect(died).toBe(MAX_INSTANCE_RESTARTS + 1);
    expect(ended.steps).toMatchObject([{ name: "onCompaction", attempts: MAX_INSTANCE_RESTARTS + 1 }]);
    await functionOf(name, cover("at last"));
    const { run: again } = await lifeOf(name).compact({ sessionId });
    expect((await lifeOf(name).waitForRun({ runId: again.id })).outcome).toMatchObject({ kind: "applied" });
  });

  test("a summariser that is down, of which a function knows nothing, keeps no run of a function waiting", async () => {
    const { agent, inside } = await newBuilt(cover("done"));
    await inside(({ palimpsest }) => {
      palimpsest.db.transaction(() => palimpsest.health.noteFailure("some model", "auth", Date.now()));
    });
    const run = await start(agent);
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
    const { run: asked } = await agent.compact({ sessionId });
    expect((await agent.waitForRun({ runId: asked.id })).path).toBe("function");
  });
});

/** A run whose summary waits for a person. */
async function proposed() {
  const calls: OwnFunctionContext[] = [];
  const made = await newBuilt((messages, context) => {
    calls.push(context);
    return cover("as the function wrote it")(messages, context);
  });
  await made.inside(({ inlineFirst }) => void inlineFirst.requireApproval());
  const { id: runId } = await start(made.agent);
  while ((await made.agent.getRun({ runId })).state !== "proposed") await scheduler.wait(1);
  return { ...made, runId, calls };
}

describe("a person's word", () => {
  test("its summary waits, also for longer than the object lives, and is committed as it was shown: it is called once (R1, R3)", async () => {
    const { name, runId, calls } = await proposed();
    await abortAllDurableObjects();
    const agent = lifeOf(name);
    await agent.watchCompactions();
    expect(await agent.getProposal({ runId })).toMatchObject({ summary: "as the function wrote it", degraded: false });
    expect(await agent.status({ sessionId })).toMatchObject({ waiting: { reason: "approval-pending" } });
    expect(await agent.getCompactions({ sessionId })).toEqual([]);
    const waiting = await agent.getRun({ runId });
    expect(waiting).toMatchObject({ state: "proposed", outcome: null });
    expect(await agent.approveRun({ runId })).toMatchObject({ kind: "approved" });
    expect(await agent.getRun({ runId })).toMatchObject({ outcome: { kind: "applied" }, steps: waiting.steps });
    expect(await agent.getCompactions({ sessionId })).toMatchObject([
      { summary: "as the function wrote it", details: { model: "onCompaction" } },
    ]);
    expect(calls).toHaveLength(1);
  });

  test("it is done also where a new version of the agent has no function any more", async () => {
    const { agent, inside, runId } = await proposed();
    await inside(({ palimpsest: { settings } }) => {
      settings.set(sessionId, { ...settings.get(sessionId), ownFunction: null });
    });
    expect(await agent.approveRun({ runId })).toMatchObject({ kind: "approved" });
    expect((await agent.getRun({ runId })).outcome).toMatchObject({ kind: "applied" });
  });

  test("what is approved is what was read: no proposal holds what nobody sees", async () => {
    const { agent, inside } = await newBuilt(cover("Deploy with \u202egnp.exe\u202c\u200b now."));
    await inside(({ inlineFirst }) => void inlineFirst.requireApproval());
    const { id: runId } = await start(agent);
    while ((await agent.getRun({ runId })).state !== "proposed") await scheduler.wait(1);
    expect((await agent.getProposal({ runId }))?.summary).toBe("Deploy with gnp.exe now.");
    await agent.approveRun({ runId });
    expect((await agent.getCompactions({ sessionId }))[0]?.summary).toBe("Deploy with gnp.exe now.");
  });

  test("its overlay has the boundary, the carried blocks, the facts and the lineage of one that asked nobody", async () => {
    const { agent, stub } = newAgent();
    const inside = <T>(work: (session: FullSession) => Promise<T>): Promise<T> =>
      runInDurableObject(stub, (instance: PalimpsestAgent) => work(Session.create(instance)));
    const approved = async (summarise: OwnFunction, begin: (session: FullSession) => Promise<unknown>) => {
      await inside(async (session) => {
        session.compactAfter(2_000).withContext("todo", { carry: true });
        session.requireApproval().onCompaction(summarise);
        await begin(session);
      });
      const runId = (await agent.runs({}))[0]?.id ?? "";
      while ((await agent.getRun({ runId })).state !== "proposed") await scheduler.wait(1);
      await agent.approveRun({ runId });
      expect((await agent.getRun({ runId })).outcome).toMatchObject({ kind: "applied" });
      return (await agent.getCompactions({})).at(-1)?.details;
    };
    const rule = { ...say(8), parts: [{ type: "text" as const, text: "Never push to the main branch. ".repeat(4) }] };
    const first = await approved(cover("we changed files", 2, 12), async (session) => {
      await session.replaceContextBlock("todo", "- [ ] write the tests");
      await session.appendAll(talk(0, 18).map((message) => (message.id === "m8" ? rule : message)));
    });
    expect(first).toMatchObject({
      model: "onCompaction",
      level: 0,
      generation: 1,
      boundary: { trigger: "threshold", lastMessageId: "m17", kept: { fromId: "m13" } },
      carried: [{ label: "todo", text: "- [ ] write the tests" }],
    });
    expect(textOf((await agent.getView({})).messages)).toContain("Never push to the main branch.");
    const second = await approved(cover("we changed more files", 1, 3), (session) => session.compact());
    expect(second).toMatchObject({ level: 1, generation: 2, carried: [{ label: "todo" }] });
  });
});

test("an edit under one of its summaries asks it to cover again what the edit uncovered", async () => {
  const { agent, inside } = await newBuilt(cover("first", 1, 9));
  await agent.waitForRun({ runId: (await start(agent)).id });
  const told: OwnFunctionContext[] = [];
  await inside((instance) => {
    instance.summarise = cover("second", 2, 6);
  });
  const { run } = await agent.compact({ sessionId });
  await agent.waitForRun({ runId: run.id });
  await inside((instance) => {
    instance.summarise = (messages, context) => {
      told.push(context);
      return cover("mended", 1, 9)(messages, context);
    };
  });
  await agent.update({ sessionId, message: say(4, "Edited. ") });
  const [mending] = await agent.runs({ sessionId });
  expect(mending).toMatchObject({ trigger: "edit", only: "mend" });
  expect((await agent.waitForRun({ runId: mending?.id ?? "" })).outcome).toMatchObject({ kind: "applied" });
  expect(told).toMatchObject([{ trigger: "edit" }]);
  expect((await agent.getCompactions({ sessionId })).filter(({ state }) => state === "active")).toMatchObject([
    { summary: "second" },
    { summary: "mended" },
  ]);
});

test("a run that comes to nothing after messages were deleted keeps the trigger quiet by the size that is left", async () => {
  const gate = makeGate();
  let asked = 0;
  const { agent } = await newBuilt(async () => {
    if (asked++ === 0) await gate.pass();
    return null;
  });
  await agent.appendAll({ sessionId, messages: talk(0, 60) });
  await gate.reached();
  await agent.deleteMessages({ sessionId, ids: talk(5, 60).map(({ id }) => id) });
  gate.open();
  await settle(agent as unknown as PalimpsestAgent, sessionId);
  expect(asked).toBe(1);
  await agent.appendAll({ sessionId, messages: talk(60, 80) });
  await settle(agent as unknown as PalimpsestAgent, sessionId);
  expect(asked).toBe(2);
});

describe("what it makes", () => {
  test("its overlay has the boundary, the carried blocks, the facts and the measure of any other", async () => {
    const { stub } = newAgent();
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const session = Session.create(instance)
        .compactAfter(2_000)
        .withContext("todo", { carry: true })
        .onCompaction(cover("we changed files", 2, 12));
      await session.replaceContextBlock("todo", "- [ ] write the tests");
      const rule = { ...say(8), parts: [{ type: "text" as const, text: "Never push to the main branch. ".repeat(4) }] };
      await session.appendAll(talk(0, 18).map((message) => (message.id === "m8" ? rule : message)));
      const [started] = instance.palimpsest.runs.list("", { limit: 1 });
      const run = await session.ended(started?.id ?? "");
      expect(run).toMatchObject({
        path: "function",
        outcome: { kind: "applied", degraded: false },
        plan: { kind: "span", span: { fromId: "m2", toId: "m12" }, keptId: "m13", level: 0 },
      });
      const [overlay] = await session.getCompactions();
      expect(overlay?.details).toMatchObject({
        model: "onCompaction",
        trigger: "threshold",
        level: 0,
        generation: 1,
        boundary: { trigger: "threshold", lastMessageId: "m17", kept: { fromId: "m13" } },
        carried: [{ label: "todo", text: "- [ ] write the tests" }],
      });
      expect(overlay?.details.boundary?.kept.headTokens).toBeGreaterThan(0);
      expect(overlay?.details.boundary?.kept.tailTokens).toBeGreaterThan(0);
      const text = textOf((await session.getView()).messages);
      expect(text).toContain("write the tests");
      expect(text).toContain("Never push to the main branch.");
    });
  });

  test("a summary over earlier ones knows its level and how often its text was written anew", async () => {
    const { agent, inside } = await newBuilt(cover("first", 1, 5));
    await agent.waitForRun({ runId: (await start(agent)).id });
    await inside((instance) => {
      instance.summarise = cover("second", 0, 6);
    });
    const { run } = await agent.compact({ sessionId });
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
    expect((await agent.getCompactions({ sessionId })).at(-1)?.details).toMatchObject({ level: 1, generation: 2 });
  });

  const REFUSAL = "I'm sorry, but I can't help with summarising this conversation.";
  test.for<[string, unknown, string]>([
    ["a text", "just words", "invalid-answer"],
    ["a number", 7, "invalid-answer"],
    ["an empty object", {}, "invalid-answer"],
    ["ids that are none", { summary: "s", fromMessageId: 1, toMessageId: null }, "invalid-answer"],
    ["messages that do not exist", { summary: "s", fromMessageId: "nobody", toMessageId: "m5" }, "invalid-answer"],
    ["a range that runs backwards", { summary: "s", fromMessageId: "m5", toMessageId: "m3" }, "invalid-answer"],
    ["a refusal", { summary: REFUSAL, fromMessageId: "m1", toMessageId: "m9" }, "unsound"],
    ["a tool call", { summary: '{"name": "search"}', fromMessageId: "m1", toMessageId: "m9" }, "unsound"],
  ])("a function that returns %s changes no view, and its run fails with a code (R1)", async ([, answer, code]) => {
    const { agent } = await newBuilt(async () => answer as never);
    const run = await start(agent);
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "failed", code });
    expect(await agent.getHistory({ sessionId })).toEqual(talk(0, 17));
  });

  test("messages that its view did not show are not covered: what it never read may have changed (C3)", async () => {
    const { agent, inside } = await newBuilt(cover("first", 1, 9));
    await agent.waitForRun({ runId: (await start(agent)).id });
    await inside((instance) => {
      instance.summarise = async () => ({ summary: "unread", fromMessageId: "m3", toMessageId: "m5" });
    });
    const { run } = await agent.compact({ sessionId });
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({
      kind: "failed",
      code: "invalid-answer",
    });
    expect(await agent.getCompactions({ sessionId })).toHaveLength(1);
  });

  test("a session that blanks secrets blanks them before its own function, too", async () => {
    const { stub } = newAgent();
    let given = "";
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const session = Session.create(instance)
        .compactAfter(2_000)
        .redactSecrets(secretRules())
        .onCompaction((messages, context) => {
          given = textOf(messages);
          return cover("done")(messages, context);
        });
      await session.appendAll(talk(0, 17).map((each, n) => (n === 4 ? say(4, `The token is ${SECRET}. `) : each)));
      const [run] = instance.palimpsest.runs.list("", { limit: 1 });
      expect((await session.ended(run?.id ?? "")).outcome).toMatchObject({ kind: "applied" });
      expect(given).not.toContain(SECRET);
      expect(JSON.stringify(await session.getCompactions())).not.toContain(SECRET);
    });
  });

  test.for<[string, OwnFunction, string]>([
    ["in its summary", cover(`we found ${SECRET}`), "applied"],
    ["in its error", () => Promise.reject(new Error(`no access with ${SECRET}`)), "failed"],
  ])("a session that blanks secrets keeps none that the function tells %s", async ([, summarise, kind]) => {
    const { agent, inside } = await newBuilt(summarise);
    await inside((instance) => {
      Session.create(instance).forSession(sessionId).redactSecrets(secretRules());
    });
    const run = await start(agent);
    expect((await agent.waitForRun({ runId: run.id })).outcome?.kind).toBe(kind);
    await inside((_instance, storage) => {
      expect([...everyTable(storage).values()].join("\n")).not.toContain(SECRET);
    });
  });
});

test("notes that hold are the summary of a session with a function as well: it is not called (R3)", async () => {
  const { agent, stub } = newAgent(noting);
  let called = 0;
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    Session.create(instance)
      .forSession(SESSION)
      .onCompaction(async () => {
        called++;
        return null;
      });
  });
  await sayAll(agent, talk(0, 20));
  const [run] = ofKind(await rest(agent), "compaction");
  expect(run).toMatchObject({ path: "notes", outcome: { kind: "applied" } });
  expect(called).toBe(0);
});

describe("what happens while it is at work", () => {
  test("a newest message that is deleted, as when a reply is made again, leaves its summary of older ones in force", async () => {
    const gate = makeGate();
    const { agent } = await newBuilt(async (messages) => {
      await gate.pass();
      return { summary: "They talked.", fromMessageId: messages[1]?.id ?? "", toMessageId: messages[9]?.id ?? "" };
    });
    const run = await start(agent);
    await gate.reached();
    await agent.deleteMessages({ sessionId, ids: ["m16"] });
    await agent.append({ sessionId, message: say(17) });
    gate.open();
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  });

  test.each([
    ["no text", Object.assign(new Error("x"), { message: { status: 500 } })],
    ["megabytes", new Error("The provider said: ".repeat(100_000))],
  ])("an error with %s as its message leaves a reason of bounded length", async (_, error) => {
    const { agent } = await newBuilt(() => Promise.reject(error));
    const { outcome } = await agent.waitForRun({ runId: (await start(agent)).id });
    const reason: unknown = outcome?.kind === "failed" ? outcome.reason : null;
    expect(typeof reason).toBe("string");
    expect(String(reason).length).toBeLessThanOrEqual(2_000);
  });
});

test("a function that a deploy adds takes no run from a Workflow whose model is answering, so one summary is paid for (R3)", async () => {
  const gate = makeGate();
  const { agent, calls, stub } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  await agent.appendAll({ messages: talk(0, 17) });
  await gate.reached();
  let asked = 0;
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance) as unknown as FullSession;
    session
      .onCompaction((messages) => {
        asked++;
        return { summary: "They talked.", fromMessageId: messages[1]?.id ?? "", toMessageId: messages[9]?.id ?? "" };
      })
      .apply();
    await instance.watchCompactions();
    await instance.watchCompactions();
    // A dispatch that began before the Workflow did has an older record of the run.
    for (const live of instance.palimpsest.runs.allLive()) {
      instance.palimpsest.dispatcher.dispatch({ ...live, state: "pending", startedAt: null });
    }
    await scheduler.wait(0);
  });
  gate.open();
  const [run] = await settle(agent);
  expect(run?.outcome).toMatchObject({ kind: "applied" });
  expect({ calls: calls.length, asked }).toEqual({ calls: 1, asked: 0 });
});

test("a Workflow whose run went to a function before its first step is recorded does nothing more, and the run goes on (R1)", async () => {
  const gate = makeGate();
  const { agent, inside } = await newBuilt(async (messages) => {
    await gate.pass();
    return { summary: "They talked.", fromMessageId: messages[1]?.id ?? "", toMessageId: messages[9]?.id ?? "" };
  });
  const { id: runId } = await start(agent);
  await gate.reached();
  const mark = { step: "plan the cut", attempt: 1 };
  const late = await inside((instance) => instance.compactionStep(runId, "outline", [mark, ["a model"]]));
  expect(late).toEqual({ kind: "ended", outcome: { kind: "cancelled" } });
  expect((await agent.getRun({ runId })).steps.map(({ name }) => name)).toEqual(["onCompaction"]);
  gate.open();
  expect((await agent.waitForRun({ runId })).outcome).toMatchObject({ kind: "applied" });
});
