/** The agent's callable surface, with its events, its pages and its errors for wrong input. */
import { Session } from "../../src/agent/sessions/session.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { withCompaction } from "../../src/agent/compacting-agent.ts";
import { notes } from "../../src/notes/room.ts";
import { runInDurableObject } from "cloudflare:test";
import { Agent } from "agents";
import { env, exports } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { RUN_EVENT, runWithoutWords, type RunEvent } from "../../src/agent/events.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { makeGate, summaryOf } from "../scripted-model.ts";
import type { BareAgent, PalimpsestAgent, UnboundAgent } from "../worker.ts";

skipRetryDelays();

type Heard = { readonly type: string } & Record<string, unknown>;

/** A client like a browser, with a WebSocket through the Worker's route. */
async function connect(name: string) {
  const response = await exports.default.fetch(`http://test/agents/palimpsest-agent/${name}`, {
    headers: { Upgrade: "websocket" },
  });
  const socket = response.webSocket;
  if (socket === null) throw new Error(`No WebSocket: ${response.status}`);
  const heard: Heard[] = [];
  socket.addEventListener("message", ({ data }) => void heard.push(JSON.parse(String(data)) as Heard));
  socket.accept();
  const events = (): RunEvent[] => heard.filter((each) => each.type === RUN_EVENT) as unknown as RunEvent[];
  return {
    events,
    async until<T>(find: () => T | undefined): Promise<T> {
      for (;;) {
        const found = find();
        if (found !== undefined) return found;
        await scheduler.wait(1);
      }
    },
    async call(method: string, ...args: unknown[]): Promise<Heard> {
      const id = crypto.randomUUID();
      socket.send(JSON.stringify({ type: "rpc", id, method, args }));
      return this.until(() => heard.find((each) => each["id"] === id));
    },
  };
}

// --- events and the ledger ------------------------------------------------------------------------------------------------

test("a connected client calls by name, and hears of a run from its start to its one outcome", async () => {
  const { name, agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const client = await connect(name);
  expect(await client.call("appendAll", { messages: talk(0, 17) })).toMatchObject({ success: true });
  const ended = await client.until(() => client.events().find((event) => event.outcome !== null));
  expect(ended.outcome).toMatchObject({ kind: "applied" });
  const events = client.events();
  expect(events[0]).toMatchObject({ state: "pending", step: null, runId: ended.runId });
  expect(new Set(events.map((event) => event.step))).toContain("plan the cut");
  for (const { done, total, outcome } of events) expect(done).toBeLessThan(outcome === null ? total : total + 1);
  expect(ended.done).toBe(ended.total);
  // What the plan promised is what there was, so a bar moves evenly to its end.
  const { steps } = await agent.getRun({ runId: ended.runId });
  const planned = events.filter((event) => event.done > 0);
  expect(new Set(planned.map(({ total }) => total))).toEqual(new Set([steps.length]));
});

test("each run's end is told once, however it comes: applied, cancelled, cleared away (R1)", async () => {
  const gate = makeGate();
  let isHeld = false;
  const { name, agent } = newAgent(async (prompt) => {
    if (isHeld) await gate.pass();
    return summaryOf(prompt, "done");
  });
  const client = await connect(name);
  const applied = await startRun(agent, "a");
  await agent.waitForRun({ runId: applied.id });
  isHeld = true;
  const cancelled = await startRun(agent, "b");
  await gate.reached();
  await agent.cancelRun({ runId: cancelled.id });
  await agent.cancelRun({ runId: cancelled.id });
  const cleared = await startRun(agent, "c");
  await agent.clearMessages({ sessionId: "c" });
  gate.open();
  const ids = [applied.id, cancelled.id, cleared.id];
  await client.until(() => client.events().find((event) => event.runId === cleared.id && event.outcome !== null));
  // Waits for the answer to a later call, so that every earlier frame has been heard.
  await client.call("status", {});
  const ends = client.events().filter((event) => event.outcome !== null);
  expect(ends.map((event) => event.runId)).toEqual(ids);
  expect(ends.map((event) => event.outcome?.kind)).toEqual(["applied", "cancelled", "stale"]);
});

test("who begins to listen is told of every session's live runs, as an event tells of them, and of no other (R1)", async () => {
  const gate = makeGate();
  let isHeld = false;
  const { name, agent } = newAgent(async (prompt) => {
    if (isHeld) await gate.pass();
    return summaryOf(prompt, "done");
  });
  await agent.waitForRun({ runId: (await startRun(agent, "over")).id });
  isHeld = true;
  const [a, b] = [await startRun(agent, "a"), await startRun(agent, "b")];
  await gate.reached();
  const client = await connect(name);
  const { result } = await client.call("liveRuns", {});
  const live = result as RunEvent[];
  expect(new Set(live.map(({ runId, sessionId }) => [runId, sessionId].join()))).toEqual(
    new Set([`${a.id},a`, `${b.id},b`]),
  );
  expect(live.every(({ type, outcome }) => type === RUN_EVENT && outcome === null)).toBe(true);
  expect((await agent.liveRuns({ limit: 1 })).length).toBe(1);
  gate.open();
  for (const { id } of [a, b]) await agent.waitForRun({ runId: id });
  expect(await agent.liveRuns({})).toEqual([]);
});

test("a client can reach neither the workflow's port nor what is not listed", async () => {
  const { name } = newAgent();
  const client = await connect(name);
  for (const method of ["compactionStep", "watchCompactions", "configureSession", "cover"]) {
    expect(await client.call(method, "run", "outline", [])).toMatchObject({ success: false });
  }
});

test("runs are paged newest first, by number", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ messages: talk(0, 2) });
  for (let n = 0; n < 5; n++) await agent.waitForRun({ runId: (await agent.compact({})).run.id });
  const first = await agent.runs({ limit: 2 });
  const second = await agent.runs({ limit: 2, before: first.at(-1)?.n });
  const third = await agent.runs({ limit: 2, before: second.at(-1)?.n });
  expect([first, second, third].map((page) => page.map((run) => run.n))).toEqual([[5, 4], [3, 2], [1]]);
  expect([first, second, third].flat().every((run) => run.outcome?.kind === "nothing")).toBe(true);
  expect(await agent.getRun({ runId: first[0]?.id ?? "" })).toEqual(first[0]);
});

test("who waits for a run too long gets the run as it stands", async () => {
  const gate = makeGate();
  const { agent } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  const run = await startRun(agent);
  await gate.reached();
  expect(await agent.waitForRun({ runId: run.id, timeoutMs: 1 })).toMatchObject({ id: run.id, outcome: null });
  gate.open();
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied" } });
});

test("compactNow over RPC goes past a spent budget where it is told to, as the session's own does", async () => {
  const { agent, stub, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    await Session.create(agent)
      .compactAfter(2_000, { chunkTokens: 1_500, budget: { sessionTokens: 1 } })
      .status();
  });
  await agent.waitForRun({ runId: (await startRun(agent)).id });
  const asked = calls.length;
  for (const [ignoreBudget, more] of [
    [false, 0],
    [true, 1],
  ] as const) {
    await agent.appendAll({ messages: talk(20 + more * 20, 30 + more * 20) });
    const { run } = await agent.compactNow({ ignoreBudget, fresh: true });
    await agent.waitForRun({ runId: run.id });
    expect(Math.min(1, calls.length - asked)).toBe(more);
  }
});

// --- bad input, whose tables are in wrong-input.test.ts -----------------------------------------------------------------------

test("what was asked wrongly is refused with its code on the far side of a socket and of a binding", async () => {
  const { name, agent } = newAgent();
  const client = await connect(name);
  expect(await client.call("append", { message: say(0), parentId: "nobody" })).toMatchObject({
    success: false,
    error: expect.stringMatching(/^\[unknown_parent\] /),
  });
  expect(await refusalOf(() => agent.append({ message: say(9), sessionId: "\ud800" }))).toContain("[invalid_input] ");
  expect(await agent.getHistory({})).toEqual([]);
});

// --- an agent that was set up wrongly -----------------------------------------------------------------------------------

/** An Agent as a second copy of its package defines it. */
class OtherCopy {
  getCallableMethods(): Map<string, unknown> {
    return new Map();
  }
}

test.each([
  ["a room that was not called", () => withCompaction(Agent, { rooms: [notes] as never }), /rooms: .*notes\(\)/],
  ["a room without a list", () => withCompaction(Agent, { rooms: notes() as never }), /rooms: .*\[notes\(\)\]/],
  ["nothing in the list", () => withCompaction(Agent, { rooms: [undefined] as never }), /rooms: /],
  ["a class that is no Agent", () => withCompaction(Date as never), /takes Agent of "agents"/],
  ["no class", () => withCompaction(undefined as never), /takes Agent of "agents"/],
  ["the Agent of a second copy", () => withCompaction(OtherCopy as never), /another copy of "agents".*npm ls agents/],
])("%s is refused where the class is declared, with what to write", (_what, declare, says) => {
  expect(declare).toThrow(says);
  expect(declare).toThrow(/^\[invalid_options\] /);
});

test.each([{}, undefined, new OtherCopy()])(
  "sessions of what has no compaction are refused with what to write",
  (agent) => {
    for (const Kind of [Session, SessionManager]) {
      expect(() => Kind.create(agent as never)).toThrow(/^\[not_configured\] .*withCompaction\(Agent\)/);
    }
  },
);

test("a session without a policy keeps its messages and says what is missing when asked to compact", async () => {
  const agent = env.BareAgent.get(env.BareAgent.idFromName("bare")) as unknown as BareAgent;
  await agent.appendAll({ messages: talk(0, 40) });
  expect(await agent.runs({})).toEqual([]);
  for (const call of [() => agent.compact({}), () => agent.compactNow({})]) {
    expect(await refusalOf(call)).toMatch(/\[not_configured\].*compactAfter/);
  }
});

test("a policy that cannot work is refused at every call, before anything is written", async () => {
  const stub = env.BareAgent.get(env.BareAgent.idFromName("broken"));
  const agent = stub as unknown as BareAgent;
  for (let call = 0; call < 2; call++) {
    const refusal = await refusalOf(() => agent.append({ sessionId: "broken", message: say(0) }));
    expect(refusal).toMatch(/\[invalid_options\] thresholdTokens is NaN/);
  }
  const stored = await runInDurableObject(stub, ({ palimpsest }: BareAgent) =>
    palimpsest.memory.session("broken").leafId(),
  );
  expect(stored).toBeNull();
});

test.each(["at its first call", "when it is used no further"])(
  "an agent without its Workflow binding says so once, when it starts, with the lines to add: %s",
  async (when) => {
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    onTestFinished(() => said.mockRestore());
    const agent = env.UnboundAgent.get(env.UnboundAgent.idFromName(when)) as unknown as UnboundAgent;
    if (when.startsWith("at")) {
      for (const sessionId of ["", "a", "b"]) await agent.append({ sessionId, message: say(0) });
    } else {
      expect(await agent.listSessions({})).toEqual([]);
    }
    await agent.listSessions({});
    const lines = said.mock.calls.flat().filter((line) => String(line).includes("COMPACTION_WORKFLOW"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\[not_configured\] UnboundAgent: .*Export CompactionWorkflow from your Worker/);
    expect(lines[0]).toContain(
      '{ "name": "<your worker>-compaction", "binding": "COMPACTION_WORKFLOW", "class_name": "CompactionWorkflow" }',
    );
  },
);

test("an agent whose sessions all bring a function of their own misses no Workflow", async () => {
  const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  const agent = env.UnboundAgent.get(env.UnboundAgent.idFromName("own")) as unknown as UnboundAgent;
  await agent.append({ sessionId: "own", message: say(0) });
  expect(said.mock.calls.flat().join()).not.toContain("WORKFLOW");
});

test("without its Workflow binding a run fails at once and says what to add; the conversation goes on (R1)", async () => {
  const agent = env.UnboundAgent.get(env.UnboundAgent.idFromName("unbound")) as unknown as UnboundAgent;
  await agent.appendAll({ messages: talk(0, 17) });
  const [run] = await agent.runs({});
  const ended = await agent.waitForRun({ runId: run?.id ?? "" });
  const outcome = { kind: "failed", code: "not-configured", reason: expect.stringContaining("COMPACTION_WORKFLOW") };
  expect(ended.outcome).toMatchObject(outcome);
  expect(runWithoutWords(ended).outcome).toMatchObject(outcome);
  await agent.append({ message: say(17) });
  expect(await agent.getHistory({})).toHaveLength(18);
  expect(await agent.runs({})).toHaveLength(1);
});
