/** A fork continues from its parent's state, with its memory, its loaded skills and its calibration, and is independent from then on. */
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import type { FullManager, FullSession } from "../../rooms.ts";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { sqliteSearch } from "../../../src/context/sqlite.ts";
import { newAgent, skipRetryDelays, startRun, stubOf } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { tables } from "../../rows.ts";
import { summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

const PARENT = "zqparent!9000";

type Work<T> = (manager: FullManager, storage: DurableObjectStorage) => Promise<T>;

/** Runs a test where the agent's own code runs, its sessions declared as a deployed agent declares them. */
function inside<T>({ stub }: Pick<ReturnType<typeof newAgent>, "stub">, work: Work<T>): Promise<T> {
  return runInDurableObject(stub, (agent: PalimpsestAgent, { storage }) => {
    const manager = SessionManager.create(agent)
      .withContext("memory", { maxTokens: 100 })
      .withContext("facts", { provider: sqliteSearch })
      .withContext("skills", { provider: { get: async () => "- pdf", load: async (key) => `How to ${key}` } })
      .withContext("team", { shared: true })
      .withCachedPrompt();
    return work(manager, storage);
  });
}

/** A new stub, because the stub from before an eviction is dead. */
function newStub(name: string) {
  return stubOf(name) as unknown as ReturnType<typeof newAgent>["stub"];
}

/** A session that has said, loaded, written, frozen and recorded something. */
async function fillParent(manager: FullManager): Promise<FullSession> {
  const parent = manager.getSession(PARENT);
  await parent.appendAll(talk(0, 10));
  const input = { label: "skills", key: "pdf" };
  const loaded = { toolCallId: "1", state: "output-available", input, output: await loadPdf(parent) } as const;
  await parent.appendMessage({ id: "load", role: "assistant", parts: [{ type: "tool-load_context", ...loaded }] });
  await parent.replaceContextBlock("memory", "Frozen.");
  await parent.freezeSystemPrompt();
  await parent.replaceContextBlock("memory", "Ana likes tea. 東京");
  await parent.replaceContextBlock("team", "Plain words.");
  for (const key of ["tea", "zeppelin"])
    await parent.context.setContextEntry("facts", { key, content: `On ${key}. 東京` });
  await parent.recordUsage({ inputTokens: 3_000, outputTokens: 10, model: "big", cost: 0.5 });
  return parent;
}

async function loadPdf(session: FullSession): Promise<string> {
  return session.context.loadSkill("skills", "pdf");
}

test("a fork's prompt is what its parent's would be now: blocks, loaded skills and counts; what is shared stays one", async () => {
  await inside(newAgent(), async (manager) => {
    const parent = await fillParent(manager);
    const { id, inputTokens, cost } = await manager.fork(PARENT, "load");
    const fork = manager.getSession(id);
    expect(await fork.freezeSystemPrompt()).toContain("Ana likes tea.");
    expect(await fork.freezeSystemPrompt()).toBe(await parent.refreshSystemPrompt());
    expect(await fork.getView()).toEqual(await parent.getView());
    expect(JSON.stringify(await fork.getView())).toContain("How to pdf");
    expect(await fork.getLoadedSkillKeys()).toEqual(new Set(["skills:pdf"]));
    expect(await fork.context.searchContext("facts", "zepp*")).toBe("[zeppelin]\nOn zeppelin. 東京");
    expect((await fork.status()).viewTokens).toBe((await parent.status()).viewTokens);
    expect((await fork.status()).viewTokens).toBe(3_000);
    // What was spent was spent by the parent.
    expect([inputTokens, cost]).toEqual([0, 0]);
    expect(await fork.getUsage()).toMatchObject([{ model: "big", calls: 0, inputTokens: 0, outputTokens: 0 }]);
    await fork.replaceContextBlock("team", "For both.");
    expect((await parent.getContextBlock("team"))?.content).toBe("For both.");
  });
});

test("afterwards neither sees what the other writes, unloads or learns (S1)", async () => {
  const made = newAgent();
  const id = await inside(made, async (manager) => {
    const parent = await fillParent(manager);
    const fork = manager.getSession((await manager.fork(PARENT, "load")).id);
    await fork.replaceContextBlock("memory", "of the fork");
    await fork.context.setContextEntry("facts", { key: "tea", content: "coffee instead" });
    await fork.context.setContextEntry("facts", { key: "new", content: "coffee too" });
    await fork.unloadSkill("skills", "pdf");
    await fork.recordUsage({ inputTokens: 8_000, model: "big" });
    expect((await parent.getContextBlock("memory"))?.content).toBe("Ana likes tea. 東京");
    expect(await parent.context.searchContext("facts", "coffee")).toBeNull();
    expect(await parent.context.searchContext("facts", "tea")).toBe("[tea]\nOn tea. 東京");
    expect(await parent.getLoadedSkillKeys()).toEqual(new Set(["skills:pdf"]));
    expect((await parent.status()).viewTokens).toBe(3_000);
    await parent.replaceContextBlock("memory", "of the parent");
    expect((await fork.getContextBlock("memory"))?.content).toBe("of the fork");
    return fork.id;
  });
  await evictDurableObject(made.stub);
  await inside({ stub: newStub(made.name) }, async (manager) => {
    const fork = manager.getSession(id);
    expect((await fork.getContextBlock("memory"))?.content).toBe("of the fork");
    expect(await fork.context.searchContext("facts", "coffee")).toContain("[new]");
    expect((await fork.status()).viewTokens).toBe(8_000);
  });
});

/** Without the pages of the index, which are written anew when something is taken out of it. */
function rows(storage: DurableObjectStorage): [string, string][] {
  return [...tables(storage)].filter(([name, text]) => !name.endsWith("_data") && text !== "");
}

test("S2: a deleted fork leaves its parent as it was, to the row; a deleted parent leaves its fork whole and nothing else", async () => {
  await inside(newAgent(), async (manager, storage) => {
    await fillParent(manager);
    const before = rows(storage);
    const short = await manager.fork(PARENT, "m3");
    expect(rows(storage)).not.toEqual(before);
    await manager.delete(short.id);
    expect(rows(storage)).toEqual(before);

    const { id } = await manager.fork(PARENT, "load");
    const fork = manager.getSession(id);
    const whole = async () => [
      await fork.getView(),
      await fork.refreshSystemPrompt(),
      await fork.context.searchContext("facts", "tea"),
      [...(await fork.getLoadedSkillKeys())],
      await fork.status(),
    ];
    const held = await whole();
    await manager.delete(PARENT);
    expect(await whole()).toEqual(held);
    for (const [name, text] of tables(storage)) expect(text.includes(PARENT), name).toBe(false);
  });
});

test("a fork that cannot be made leaves nothing: no session, no block, no entry", async () => {
  await inside(newAgent(), async (manager, storage) => {
    await fillParent(manager);
    const before = tables(storage);
    await expect(manager.fork(PARENT, "nobody")).rejects.toThrow("[unknown_message]");
    await expect(manager.fork(PARENT, "m3", "two\nlines")).rejects.toThrow("[invalid_input]");
    await expect(manager.fork("nobody", "m3")).rejects.toThrow("[unknown_session]");
    expect(tables(storage)).toEqual(before);
  });
});

test("a fork of a session that was compacted pays for no chunk again, also when its parent is gone (R3)", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "what was said"));
  const run = await startRun(made.agent);
  await made.agent.waitForRun({ runId: run.id });
  const paid = made.calls.length;
  const leafId = (await made.agent.status({})).leafId ?? "";
  const { id } = await made.agent.forkSession({ atMessageId: leafId });
  const [overlay] = await made.agent.getCompactions({ sessionId: id });
  // Undone and asked for again, in the fork alone.
  await made.agent.rollback({ sessionId: id, overlayId: overlay?.id ?? "" });
  const again = await made.agent.compact({ sessionId: id });
  await made.agent.waitForRun({ runId: again.run.id });
  expect(made.calls.length).toBe(paid);
  await made.agent.deleteSession({});
  const second = (await made.agent.getCompactions({ sessionId: id })).find((each) => each.state === "active");
  await made.agent.rollback({ sessionId: id, overlayId: second?.id ?? "" });
  const third = await made.agent.compact({ sessionId: id });
  expect(await made.agent.waitForRun({ runId: third.run.id })).toMatchObject({ outcome: { kind: "applied" } });
  expect(made.calls.length).toBe(paid);
  await made.agent.append({ sessionId: id, message: say(100) });
});
