/**
 * Calls that a connected client of an agent may make. There are eight unless its author opened more, and none returns a word of the
 * conversation.
 */
import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { Agent, callable } from "agents";
import { expect, test, vi } from "vitest";
import { CALL_NAMES, calls } from "../rooms.ts";
import { ALL_ROOMS, type AllRooms, type CallName } from "../../src/rooms.ts";
import { runCall, type CallContext } from "../../src/agent/calls.ts";
import { tableOf } from "../../src/agent/calls.ts";
import { ClientAccess, type Clients } from "../../src/agent/clients.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { withCompaction } from "../../src/agent/compacting-agent.ts";
import { ENOUGH, refusalOf, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { tables } from "../rows.ts";
import { scriptModel, summaryOf, type Script } from "../scripted-model.ts";
import type { DefaultAgent } from "../worker.ts";
import { Line, upgrade } from "./client.ts";
import { recall } from "../../src/recall/room.ts";

skipRetryDelays();

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

const WATCH: readonly CallName[] = [
  "compact",
  "plan",
  "runs",
  "liveRuns",
  "getRun",
  "cancelRun",
  "status",
  "needsCompaction",
];

let agents = 0;

/** An agent whose author set nothing about clients, with its stub and a browser's way to it. */
function newDefaultAgent(script: Script | null = null) {
  const name = `default-${agents++}`;
  scriptModel(name, script);
  const stub = env.DefaultAgent.get(env.DefaultAgent.idFromName(name));
  const connect = async (): Promise<Line> => {
    const { webSocket } = await exports.default.fetch(`http://test/agents/default-agent/${name}`, { headers: upgrade });
    if (webSocket === null) throw new Error("No WebSocket.");
    return new Line(webSocket);
  };
  return { stub, agent: stub as unknown as DefaultAgent, connect };
}

const rowsOf = (stub: DurableObjectStub<DefaultAgent>) =>
  runInDurableObject(stub, (_agent: DefaultAgent, { storage }) => tables(storage));

// --- who may call --------------------------------------------------------------------------------------------------------

test("the group that is open by default is these eight, and no other call is in it", () => {
  expect(CALL_NAMES.filter((name) => calls[name].group === "watch").toSorted()).toEqual(WATCH.toSorted());
});

test("a client of a default agent may make these eight calls; every other is refused, whatever it sends, and writes nothing", async () => {
  const { stub, agent, connect } = newDefaultAgent();
  await agent.appendAll({ messages: talk(0, 3) });
  const line = await connect();
  const before = await rowsOf(stub);
  const inputs = [
    {},
    { message: say(90) },
    { id: "m1" },
    { ids: ["m1"] },
    { runId: "r" },
    { label: "memory", content: "x" },
  ];
  for (const name of CALL_NAMES) {
    for (const input of inputs) {
      const { success, error = "" } = await line.call(name, input);
      if (WATCH.includes(name)) expect(success === true || /^\[\w+\] /.test(error), `${name}: ${error}`).toBe(true);
      else expect(error, name).toMatch(`[not_configured] This agent does not open ${name} to clients.`);
    }
  }
  const after = await rowsOf(stub);
  // `compact` asks for a run, and a run has a row.
  for (const table of [...before.keys()].filter((name) => !/_(?:runs|drafts)/.test(name)))
    expect(after.get(table), table).toBe(before.get(table));
});

test("who holds the stub of a default agent may make every call", async () => {
  const { agent } = newDefaultAgent();
  for (const name of CALL_NAMES) {
    const refusal = await refusalOf(() => agent[name]({ nonsense: true } as never));
    expect(refusal, name).toMatch(/^\[invalid_input\] .*nonsense: no such field/);
  }
  await agent.append({ message: say(0) });
  expect(await agent.getHistory({})).toHaveLength(1);
});

// --- nothing that was said -----------------------------------------------------------------------------------------------

const SECRETS = {
  said: "quokka-said",
  rule: "quokka-rule",
  focus: "quokka-focus",
  title: "quokka-title",
  child: "quokka-child",
  summary: "quokka-summary",
  provider: "quokka-provider",
  own: "quokka-own",
  reason: "quokka-reason",
  notes: "quokka-notes",
  block: "quokka-block",
} as const;

/** Messages that hold the words which no answer may hold. */
function whispers(from: number, to: number) {
  return talk(from, to).map((message) => ({
    ...message,
    parts: [
      ...message.parts,
      { type: "text" as const, text: `${SECRETS.said}. Never deploy ${SECRETS.rule} on a Friday.` },
    ],
  }));
}

test("no answer that a default agent gives to a client, and no event, holds a word of what was said, asked, summarised or refused", async () => {
  const { agent, connect } = newDefaultAgent((prompt) => {
    if (JSON.stringify(prompt).includes("make-it-fail")) throw new Error(`Rejected: ${SECRETS.provider}`);
    return summaryOf(prompt, `${SECRETS.summary} ${SECRETS.said} ${SECRETS.rule}`);
  });
  const line = await connect();
  const heard: unknown[] = [];
  const runs = new Set<string>();
  const look = async (sessionId: string): Promise<void> => {
    for (const { id } of await agent.runs({ sessionId })) runs.add(id);
    for (const call of [
      ["plan", { sessionId }],
      ["plan", { sessionId, manual: true, rebuild: true }],
      ["status", { sessionId }],
      ["needsCompaction", { sessionId }],
      ["runs", { sessionId }],
      ["liveRuns", {}],
      ["compact", { sessionId, leafId: "nobody" }],
      ...[...runs].flatMap((runId) => [
        ["getRun", { runId }],
        ["cancelRun", { runId }],
      ]),
    ] as const) {
      const [name, input] = call as [string, object];
      heard.push([name, await line.call(name, input)]);
    }
  };

  // A live run and an ended one, with a focus, beside notes by hand and a block of the system prompt.
  const sessionId = "told";
  await agent.createSession({ name: SECRETS.title });
  await agent.appendAll({ sessionId, messages: whispers(0, 6) });
  await agent.updateNotes({ sessionId, sections: [{ title: `${SECRETS.notes} title`, text: SECRETS.notes }] });
  await agent.replaceContextBlock({ sessionId, label: "memory", content: SECRETS.block });
  await agent.freezeSystemPrompt({ sessionId });
  await agent.renameSession({ sessionId, name: SECRETS.title });
  await agent.appendAll({ sessionId, messages: whispers(6, ENOUGH + 6) });
  const asked = await agent.compact({ sessionId, focus: SECRETS.focus });
  await agent.waitForRun({ runId: asked.run.id });
  const again = await agent.compact({ sessionId, focus: SECRETS.focus, rebuild: true });
  await agent.waitForRun({ runId: again.run.id });
  await look(sessionId);

  // Proposed to a person, and refused by one.
  await agent.appendAll({ sessionId: "asked", messages: whispers(0, ENOUGH) });
  const [proposed] = await agent.runs({ sessionId: "asked" });
  const runId = proposed?.id ?? "";
  while ((await agent.getRun({ runId })).state !== "proposed") await scheduler.wait(1);
  heard.push(await line.call("getRun", { runId }), await line.call("liveRuns", {}));
  expect((await agent.getProposal({ runId }))?.summary).toContain(SECRETS.summary);
  await agent.rejectRun({ runId, reason: SECRETS.reason });
  await look("asked");

  // Failed in the words of a provider, and of a function of the author's own.
  const long = say(6, `make-it-fail ${"x ".repeat(2_000)}`);
  await agent.appendAll({ sessionId: "failed", messages: [...whispers(0, 6), long, ...whispers(7, ENOUGH)] });
  await agent.appendAll({ sessionId: "own", messages: whispers(0, ENOUGH) });
  for (const [sessionId, secret] of [
    ["failed", SECRETS.provider],
    ["own", SECRETS.own],
  ] as const) {
    for (const { id } of await agent.runs({ sessionId })) await agent.waitForRun({ runId: id });
    expect(JSON.stringify(await agent.runs({ sessionId }))).toContain(secret);
    await look(sessionId);
  }
  // Grown since a run that failed, and still under the hard line.
  const cooling = "own, cooling";
  await agent.appendAll({ sessionId: cooling, messages: whispers(0, 17) });
  for (const { id } of await agent.runs({ sessionId: cooling })) await agent.waitForRun({ runId: id });
  await agent.appendAll({ sessionId: cooling, messages: whispers(17, 20) });
  const cools = { reason: "cooling-down", detail: expect.stringContaining("The last run failed") as unknown };
  expect(await agent.status({ sessionId: cooling })).toMatchObject({ waiting: cools });
  await look(cooling);

  // Split, under a name.
  await agent.appendAll({ sessionId: "parent", messages: whispers(0, 6) });
  const split = await agent.compactAndSplit({ sessionId: "parent", name: SECRETS.child, focus: SECRETS.focus });
  expect(await agent.waitForRun({ runId: split.run.id })).toMatchObject({ childName: SECRETS.child });
  await look("parent");

  const everything = JSON.stringify([heard, line.heard]);
  expect(everything).toContain(runId);
  for (const secret of Object.values(SECRETS)) expect(everything, secret).not.toContain(secret);
  expect(everything).not.toContain("quokka");
});

// --- opened calls --------------------------------------------------------------------------------------------------------

/** The calls that the SDK opens to clients of a class. Read from an object that was made in the right environment. */
async function openedBy(
  ...classes: (new (ctx: DurableObjectState, env: Cloudflare.Env) => Agent)[]
): Promise<string[][]> {
  const probe = env.StorageProbe.get(env.StorageProbe.idFromName(`doors-${agents++}`));
  return runInDurableObject(probe, (_probe, ctx) =>
    classes.map((Class) => {
      const made = new Class(ctx, env);
      // As the SDK asks when a frame comes in.
      const isCallable = Reflect.get(made, "_isCallable") as (name: string) => boolean;
      return [...CALL_NAMES, "note"].filter((name) => isCallable.call(made, name)).toSorted();
    }),
  );
}

const inGroups = (...groups: string[]): string[] =>
  CALL_NAMES.filter((name) => groups.includes(calls[name].group)).toSorted();

/** The calls of a group that an agent without rooms has. */
const inCore = (group: string): string[] =>
  Object.entries(tableOf([]))
    .flatMap(([name, entry]) => (entry.group === group ? [name] : []))
    .toSorted();

const of = (clients: Clients<AllRooms>) => class extends withCompaction(Agent, { clients, rooms: ALL_ROOMS }) {};

test("a list opens exactly its groups and names; all, none and nothing said are what they say", async () => {
  const opened = await openedBy(
    class extends withCompaction(Agent) {},
    of("all"),
    of("none"),
    of([]),
    of(["read"]),
    of(["watch", "write", "getView"]),
    of(["override"]),
    of(["admin", "append"]),
  );
  expect(opened).toEqual([
    inCore("watch"),
    [...CALL_NAMES].toSorted(),
    [],
    [],
    inGroups("read"),
    [...inGroups("watch", "write"), "getView"].toSorted(),
    [],
    [...inGroups("admin"), "append"].toSorted(),
  ]);
});

test("a class opens nothing in its parent or its children, whichever of them wakes first", async () => {
  class Parent extends withCompaction(Agent) {
    static override readonly clients: Clients<readonly []> = ["append", "status"];
  }
  class Child extends Parent {
    static override readonly clients: Clients<readonly []> = ["status", "getView"];
  }
  class Closed extends Child {
    static override readonly clients: Clients<readonly []> = "none";
  }
  const expected = [["append", "status"], ["getView", "status"], []];
  expect(await openedBy(Parent, Child, Closed)).toEqual(expected);
  expect((await openedBy(Closed, Child, Parent)).toReversed()).toEqual(expected);
  expect(await openedBy(Parent, Parent, withCompaction(Agent))).toEqual([
    ...[1, 2].map(() => ["append", "status"]),
    inCore("watch"),
  ]);
});

test("a class that says for itself what it opens is heard, whatever its base class was declared with", async () => {
  const Declared = withCompaction(Agent, { clients: ["watch", "getView"] });
  class Closed extends withCompaction(Agent) {
    static override readonly clients = "none" as const;
  }
  class Other extends Declared {
    static override readonly clients = ["append"] as const;
  }
  class Heir extends Other {}
  expect(await openedBy(Declared, Closed, Other, Heir)).toEqual([
    [...inCore("watch"), "getView"].toSorted(),
    [],
    ["append"],
    ["append"],
  ]);
  class Misspelt extends Declared {
    static override readonly clients = ["reed"] as never;
  }
  await expect(openedBy(Misspelt)).rejects.toThrow(/\[invalid_options\] clients: "reed"/);
});

test("what an author made callable is callable, in a class that opens nothing too", async () => {
  class Author extends withCompaction(Agent) {
    static override readonly clients: Clients<readonly []> = "none";
    async note(): Promise<string> {
      return "noted";
    }
  }
  callable()(Reflect.get(Author.prototype, "note") as () => unknown, {} as ClassMethodDecoratorContext);
  expect(await openedBy(Author)).toEqual([["note"]]);
});

test("a callable method of a base class opens no call of ours that took its place", async () => {
  class Base extends Agent {
    async search(): Promise<string> {
      return "the base's own";
    }
    async deleteSession(): Promise<string> {
      return "the base's own";
    }
  }
  for (const name of ["search", "deleteSession"]) {
    callable()(Reflect.get(Base.prototype, name) as () => unknown, {} as ClassMethodDecoratorContext);
  }
  class Closed extends withCompaction(Base, { clients: "none", rooms: [recall()] }) {}
  class Child extends Closed {}
  class Opened extends withCompaction(Base, { clients: ["search"], rooms: [recall()] }) {}
  expect(await openedBy(Closed, Child, Opened)).toEqual([[], [], ["search"]]);
});

test.each([[["reed"]], [["append", "everything"]], ["some"], [null], [7]])(
  "clients: %j is refused where it stands",
  (clients) => {
    expect(() => new ClientAccess(clients as never, tableOf([]))).toThrow(/^\[invalid_options\] clients: /);
    expect(() => withCompaction(Agent, { clients: clients as never })).toThrow(/\[invalid_options\]/);
  },
);

// --- what costs money ------------------------------------------------------------------------------------------------------

/** An agent whose session has messages to compact, and has spent its budget. */
async function newSpentAgent() {
  const made = newDefaultAgent((prompt) => summaryOf(prompt, "done"));
  const sessionId = "spent";
  await made.agent.appendAll({ sessionId, messages: talk(0, ENOUGH) });
  for (const { id } of await made.agent.runs({ sessionId })) await made.agent.waitForRun({ runId: id });
  await made.agent.appendAll({ sessionId, messages: talk(ENOUGH, ENOUGH + 6) });
  return { ...made, sessionId };
}

test("a client of a default agent cannot go past a spent budget; who holds the stub can", async () => {
  const { agent, connect, sessionId } = await newSpentAgent();
  const line = await connect();
  expect((await line.call("compact", { sessionId, ignoreBudget: true })).error).toMatch(/^\[unauthorized\] .*override/);
  const { result } = await line.call("compact", { sessionId });
  expect(result).toMatchObject({ run: { outcome: { kind: "nothing", reason: "budget-spent" } } });
  expect((await agent.compact({ sessionId, ignoreBudget: true })).run.outcome).toBeNull();
});

test("without `steer` a client has a model asked once about what was said, whatever it asks for and cancels", async () => {
  let asked = 0;
  const { agent, connect } = newDefaultAgent((prompt) => {
    asked++;
    return summaryOf(prompt, "done");
  });
  const sessionId = "anew";
  const line = await connect();
  await agent.appendAll({ sessionId, messages: talk(0, ENOUGH) });
  const ended = async (): Promise<void> => {
    for (const { id } of await agent.runs({ sessionId })) await agent.waitForRun({ runId: id });
  };
  const compact = async (input: object): Promise<string> => {
    const { result, error = "" } = await line.call("compact", { sessionId, ...input });
    const { run } = (result ?? {}) as { run?: { id: string } };
    if (run !== undefined) await line.call("cancelRun", { runId: run.id });
    await ended();
    return error;
  };
  await ended();
  expect(await compact({ fresh: true })).toMatch(/^\[unauthorized\] .*steer/);
  expect(await compact({ rebuild: true })).toMatch(/^\[unauthorized\] .*steer/);
  for (let said = ENOUGH; said < ENOUGH + 3; said++) {
    expect(await compact({ focus: `the ${said}th` })).toBe("");
    const before = asked;
    for (const input of [{ focus: "more" }, { focus: "other", leafId: "m4" }, { leafId: "m3" }])
      expect(await compact(input)).toMatch(/^\[unauthorized\] .*nothing was said since the last run/);
    await compact({});
    expect(asked).toBe(before);
    await scheduler.wait(2);
    await agent.append({ sessionId, message: say(said) });
    await ended();
  }
  const before = await agent.runs({ sessionId });
  for (const input of [{ focus: "a" }, { focus: "b", fresh: true }])
    await agent.cancelRun({ runId: (await agent.compact({ sessionId, ...input })).run.id });
  expect(await agent.runs({ sessionId })).toHaveLength(before.length + 2);
});

test("without `override` no call goes past a spent budget, whatever else is open; with it each does", async () => {
  const { stub, agent, sessionId } = await newSpentAgent();
  const [ended] = await agent.runs({ sessionId });
  const runId = ended?.id ?? "";
  const spent = { kind: "nothing", reason: "budget-spent" };
  await runInDurableObject(stub, async (agent: DefaultAgent) => {
    const session = (id: string) => Session.create(agent).forSession(id);
    await session(sessionId).keepNotes().status();
    const context = (may: boolean): CallContext => ({
      core: agent.palimpsest,
      manager: SessionManager.create(agent),
      session,
      may: (grant) => may || grant !== "override",
    });
    for (const name of ["compact", "compactNow", "compactAndSplit", "refreshNotes", "retryRun"] as const) {
      const input = name === "retryRun" ? { runId } : { sessionId };
      const asked = async () => runCall(calls[name], context(false), { ...input, ignoreBudget: true });
      await expect(asked()).rejects.toThrow(/^\[unauthorized\] .*override/);
      // A prompt that a provider refused as too long is compacted whatever was spent.
      if (name === "compactNow" || name === "compactAndSplit") continue;
      const held = await runCall(calls[name], context(true), { ...input, ignoreBudget: false });
      expect(held.run.outcome, name).toMatchObject(spent);
    }
    expect((await runCall(calls["retryRun"], context(false), { runId })).run.outcome).toMatchObject(spent);
    expect((await runCall(calls["refreshNotes"], context(false), { sessionId })).run.outcome).toMatchObject(spent);
    for (const [name, input] of [
      ["refreshNotes", { sessionId }],
      ["retryRun", { runId }],
      ["compact", { sessionId, ignoreBudget: true }],
    ] as const) {
      const { run } = await runCall(calls[name], context(true), input);
      expect(run.outcome, name).toBeNull();
      agent.palimpsest.dispatcher.end(run.id, { kind: "cancelled" });
    }
  });
});
