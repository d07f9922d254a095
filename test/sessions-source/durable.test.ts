/** A session of `agents/sessions` with summaries of our Workflow among the SDK's own. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { afterEach, expect, test, vi } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { durable } from "../../src/sessions-source/durable.ts";
import { until } from "../ai-chat/chat.ts";
import type { Keeper } from "../ai-chat/worker.ts";
import { say, talk } from "../conversation.ts";
import { makeGate, openGates, scriptModel, summaryOf, type Script } from "../scripted-model.ts";

skipRetryDelays();
afterEach(() => openGates());

let agents = 0;
const TOLD = "What was said is told here.";

function newKeeper(prefix = "keeper", script: Script = (prompt) => summaryOf(prompt, TOLD)): string {
  const name = `${prefix}-${agents++}`;
  scriptModel(name, script);
  return name;
}

const inside = <T>(name: string, work: (agent: Keeper) => Promise<T> | T): Promise<T> =>
  runInDurableObject(env.Keeper.get(env.Keeper.idFromName(name)), (agent) => work(agent));

async function append(name: string, messages: readonly UIMessage[], parentId?: string): Promise<void> {
  await inside(name, async ({ store }) => {
    for (const [at, message] of messages.entries())
      await store.session().appendMessage(message, at === 0 && parentId !== undefined ? { parentId } : {});
  });
}

/** Waits until each run has its outcome and the last summary's fate is told. */
async function told(name: string, many = 1) {
  return until(() => inside(name, (agent) => (agent.told.length >= many ? [...agent.told] : undefined)));
}

async function runsOf(name: string, many = 1): Promise<RunRecord[]> {
  return until(async () => {
    const runs = await inside(name, ({ palimpsest }) => palimpsest.runs.list("", { limit: 20 }));
    return runs.length >= many && runs.every(({ outcome }) => outcome !== null) ? runs : undefined;
  });
}

const look = (name: string) =>
  inside(name, async ({ store }) => ({
    shown: await store.session().getHistory(),
    stored: (await store.session().getHistoryRowStats()).map(({ id }) => id),
    compactions: await store.session().getCompactions(),
  }));

const MANY = talk(0, 30);

/** A keeper whose first run waits at a gate for its summary. */
async function keeperAtGate() {
  const gate = makeGate();
  const name = newKeeper("keeper", async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, TOLD);
  });
  await append(name, MANY);
  await gate.reached();
  return { name, gate };
}

test("over a bound on messages our summary is written among the SDK's, far under the threshold", async () => {
  const name = newKeeper("counted");
  await append(name, talk(0, 14));
  expect((await runsOf(name))[0]).toMatchObject({ trigger: "messages", outcome: { kind: "applied" } });
  expect((await told(name))[0]?.kind).toBe("written");
  const { shown, stored } = await look(name);
  expect(stored).toHaveLength(14);
  expect(shown.length).toBeLessThanOrEqual(12);
});

test("over the SDK's threshold the SDK's own reads show our summary, and every message is still stored", async () => {
  const name = newKeeper();
  await append(name, MANY);
  const [first] = await told(name);
  expect(first?.kind).toBe("written");
  const { shown, stored, compactions } = await look(name);
  expect(stored).toEqual(MANY.map(({ id }) => id));
  expect(compactions.length).toBeGreaterThan(0);
  expect(shown.length).toBeLessThan(MANY.length);
  expect(shown.filter(({ id }) => id.startsWith("compaction_"))).not.toEqual([]);
  expect(JSON.stringify(shown)).toContain(TOLD);
  expect(shown.at(-1)?.id).toBe("m29");
  // The same in our view.
  await inside(name, async (agent) => {
    const view = (await Session.create(agent).getView({ apart: true })).messages;
    const own = view.filter(({ id }) => !id.startsWith("palimpsest:")).map(({ id }) => id);
    expect(own).toEqual(shown.filter(({ id }) => !id.startsWith("compaction_")).map(({ id }) => id));
  });
});

test("no append waits for the summariser, and compact() returns at once", async () => {
  const { name, gate } = await keeperAtGate();
  await append(name, [say(30), say(31)]);
  expect(await inside(name, ({ store }) => store.session().compact())).toBeNull();
  expect((await look(name)).compactions).toEqual([]);
  gate.open();
  expect((await told(name))[0]?.kind).toBe("written");
  expect((await look(name)).shown.at(-1)?.id).toBe("m31");
});

test("a crash between the commit and the write-back: it is written at the next wake, once, however often the object wakes", async () => {
  const name = newKeeper();
  await inside(name, ({ writes }) => void (writes.open = false));
  await append(name, MANY);
  const [run] = await runsOf(name);
  expect(run?.outcome?.kind).toBe("applied");
  expect((await look(name)).compactions).toEqual([]);
  await abortAllDurableObjects();
  expect(await told(name)).toMatchObject([{ kind: "written" }]);
  const { compactions } = await look(name);
  expect(compactions).toHaveLength(1);
  await abortAllDurableObjects();
  await inside(name, async (agent) => {
    await agent.store.session().getHistory();
    await Session.create(agent).status();
  });
  await append(name, [say(30)]);
  expect((await look(name)).compactions).toEqual(compactions);
});

test("another branch became the active one meanwhile: nothing is written, and it is once that branch is taken up again", async () => {
  const { name, gate } = await keeperAtGate();
  await append(name, [say(50)], "m0");
  gate.open();
  expect(await told(name)).toMatchObject([{ kind: "left", reason: "other-branch" }]);
  expect((await look(name)).compactions).toEqual([]);
  await append(name, [say(30)], "m29");
  expect(await told(name, 2)).toMatchObject([{ kind: "left" }, { kind: "written" }]);
  expect((await look(name)).shown.at(-1)?.id).toBe("m30");
  expect(JSON.stringify((await look(name)).shown)).toContain(TOLD);
});

test("cleared meanwhile, before the commit or behind it: nothing is written, and the session begins again", async () => {
  const { name, gate } = await keeperAtGate();
  await inside(name, ({ store }) => store.session().clearMessages());
  gate.open();
  const late = newKeeper();
  await inside(late, ({ writes }) => void (writes.open = false));
  await append(late, MANY);
  await runsOf(late);
  await inside(late, async ({ store, writes }) => {
    await store.session().clearMessages();
    writes.open = true;
  });
  for (const each of [name, late]) {
    await append(each, [say(1)]);
    await runsOf(each, 0);
    const { shown } = await look(each);
    expect(shown.map(({ id }) => id)).toEqual(["m1"]);
  }
  expect((await look(name)).compactions).toEqual([]);
});

test("a summary that somebody else stored meanwhile stays, ours is taken back, and the next one builds on theirs", async () => {
  const { name, gate } = await keeperAtGate();
  await inside(name, ({ store }) => store.session().addCompaction("Somebody else tells of it.", "m2", "m10"));
  gate.open();
  expect(await told(name)).toMatchObject([{ kind: "left", reason: "overlapped" }]);
  expect((await look(name)).compactions.map(({ summary }) => summary)).toEqual(["Somebody else tells of it."]);
  await inside(name, async (agent) => {
    const active = (await Session.create(agent).getCompactions()).filter(({ state }) => state === "active");
    expect(active.map(({ summary }) => summary)).toEqual(["Somebody else tells of it."]);
  });
  await append(name, talk(30, 60));
  await until(async () => ((await told(name)).at(-1)?.kind === "written" ? true : undefined));
  const { shown, stored } = await look(name);
  expect(stored).toHaveLength(60);
  expect(shown.length).toBeLessThan(40);
});

test("summaries that the SDK stored before are taken over, and are not written again", async () => {
  const name = newKeeper("late");
  await inside(name, async ({ store }) => {
    const session = store.session();
    for (const message of talk(0, 12)) await session.appendMessage(message);
    await session.addCompaction("They spoke of files.", "m2", "m8");
  });
  await abortAllDurableObjects();
  await inside(name, async (agent) => {
    const ours = Session.create(agent);
    await until(async () => ((await ours.getCompactions()).length > 0 ? true : undefined));
    expect((await ours.getCompactions())[0]).toMatchObject({ summary: "They spoke of files.", state: "active" });
    expect(await agent.store.session().getCompactions()).toHaveLength(1);
  });
});

test("a wrong agent, a wrong session, a second call, and a threshold that was named too early are told", async () => {
  const name = newKeeper();
  await inside(name, async (agent) => {
    const session = agent.store.session();
    expect(() => durable({} as never, session)).toThrow(/invalid_options.*withCompaction/);
    expect(() => durable(agent, undefined as never)).toThrow(/invalid_options.*durable\(this, session\)/);
    expect(() => durable(agent, session)).toThrow(/not_configured.*constructor/);
    expect(() => durable(agent, agent.store.session("b"), { wait: true } as never)).toThrow(/invalid_options.*wait/);
  });
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const early = newKeeper("late");
  await append(early, MANY);
  expect(warned.mock.calls.flat().join(" ")).toMatch(/behind onCompaction\(durable\(this, session\)\)/);
  expect((await look(early)).shown).toHaveLength(MANY.length);
  warned.mockRestore();
});

test("a session that holds messages of our own is left alone, and no message of it is lost", async () => {
  const name = newKeeper();
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  await inside(name, async (agent) => {
    const own = Session.create(agent).forSession("own");
    for (const message of talk(0, 4)) await own.appendMessage(message);
  });
  await abortAllDurableObjects();
  await inside(name, async (agent) => {
    durable(agent, agent.store.session("own"));
    await expect(Session.create(agent).forSession("own").getView()).rejects.toThrow(/conflict.*messages of its own/);
    const rows = agent.sql<{ n: number }>`SELECT count(*) AS n FROM palimpsest_messages WHERE session_id = 'own'`;
    expect(rows).toEqual([{ n: 4 }]);
  });
  warned.mockRestore();
});
