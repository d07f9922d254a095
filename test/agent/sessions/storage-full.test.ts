/** Full storage as a caller sees it. Each call that would add data says so, and every other call works. */
import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, test } from "vitest";
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { sqliteSearch } from "../../../src/context/sqlite.ts";
import { MAX_DATABASE_BYTES } from "../../../src/memory/db.ts";
import { newAgent, overlayOf, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { everyTable } from "../../rows.ts";
import type { FullManager, FullSession } from "../../rooms.ts";
import { summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

/** Makes the storage of an agent say that it holds so many bytes. Null lets it say the truth again. */
function holds({ stub }: ReturnType<typeof newAgent>, bytes: number | null): Promise<void> {
  return runInDurableObject(stub, (_instance: PalimpsestAgent, { storage: { sql } }) => {
    if (bytes === null) Reflect.deleteProperty(sql, "databaseSize");
    else Object.defineProperty(sql, "databaseSize", { get: () => bytes, configurable: true });
  });
}

/** A transcript of one message. */
const LINE = JSON.stringify(say(50));

interface On {
  readonly manager: FullManager;
  readonly session: FullSession;
}

/** The calls of an agent's own code that store something that somebody gave. */
const ADDING: readonly (readonly [name: string, call: (on: On) => unknown])[] = [
  ["appendMessage", ({ session }) => session.appendMessage(say(50))],
  ["appendAll", ({ session }) => session.appendAll(talk(50, 52))],
  ["appendAll behind a known message", ({ session }) => session.appendAll([say(3), say(50)])],
  ["upsertMessage of a new message", ({ session }) => session.upsertMessage(say(50))],
  ["upsertMessage of a known one", ({ session }) => session.upsertMessage(say(3, "Edited. "))],
  ["updateMessage", ({ session }) => session.updateMessage(say(3, "Edited. "))],
  ["persistTurn", ({ session }) => session.persistTurn({ leafId: "m11", messages: [say(50)] })],
  ["appendEvents", ({ session }) => session.appendEvents([{ action: "user_message", id: "e", content: "Go on." }])],
  ["importTranscript", ({ session }) => session.importTranscript(LINE)],
  ["importTranscript into a new session", ({ manager }) => manager.getSession("new").importTranscript(LINE)],
  ["updateNotes", ({ session }) => session.updateNotes({ sections: [{ title: "Task", text: "Mend the parser." }] })],
  ["replaceContextBlock", ({ session }) => session.replaceContextBlock("memory", "The user likes tea.")],
  ["appendContextBlock", ({ session }) => session.appendContextBlock("memory", "The user likes tea.")],
  ["a new entry", ({ session }) => session.context.setContextEntry("facts", { key: "new", content: "Tea." })],
  ["another entry", ({ session }) => session.context.setContextEntry("facts", { key: "known", content: "Tea." })],
  ["create", ({ manager }) => manager.create("A new one")],
  ["fork", ({ manager }) => manager.fork("", "m5")],
];

describe("each call that adds, while storage is full", () => {
  const made = newAgent();
  const within = <T>(work: (on: On, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
    runInDurableObject(made.stub, (agent: PalimpsestAgent, { storage }) => {
      const manager = SessionManager.create(agent)
        .withContext("memory")
        .withContext("facts", { provider: sqliteSearch });
      return work({ manager, session: manager.getSession("") }, storage);
    });

  beforeAll(async () => {
    await within(async ({ session }) => {
      await session.appendAll(talk(0, 12));
      await session.replaceContextBlock("memory", "The user likes coffee.");
      await session.context.setContextEntry("facts", { key: "known", content: "Coffee." });
    });
    await holds(made, MAX_DATABASE_BYTES);
  });

  test.each(ADDING)("%s is refused as storage_full and writes nothing", async (_name, call) => {
    const { before, answer, after } = await within(async (on, storage) => {
      const before = everyTable(storage);
      const answer = await Promise.resolve()
        .then(() => call(on))
        .then(() => "stored", String);
      return { before, answer, after: everyTable(storage) };
    });
    expect(answer).toMatch(/\[storage_full\] .*Delete sessions/);
    expect(after).toEqual(before);
  });

  test("none of them is refused for another reason: with room each is stored", async () => {
    await holds(made, null);
    for (const [name, call] of ADDING) {
      const written = await within(async (on, storage) => {
        const before = everyTable(storage);
        await call(on);
        return JSON.stringify([...everyTable(storage)]) !== JSON.stringify([...before]);
      });
      expect(`${name}: ${written}`).toMatch(/: true$/);
      if (/Message|append[AE]|Turn|import/.test(name)) await within(({ session }) => reset(session));
    }
  });
});

/** Brings the conversation back to what it was before one of the calls. */
async function reset(session: FullSession): Promise<void> {
  await session.deleteMessages(["m50", "m51", "e"]);
  await session.updateMessage(say(3));
}

test("while storage is full a compaction is planned, summarised and committed, and what it made can be taken back and deleted", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "What was said is told here."));
  const { agent } = made;
  await agent.appendAll({ messages: talk(0, 12) });
  await holds(made, MAX_DATABASE_BYTES);
  const { run } = await agent.compact({});
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended.outcome?.kind).toBe("applied");
  expect(ended.steps.length).toBeGreaterThan(0);
  await agent.rollback({ overlayId: overlayOf(ended) });
  expect((await agent.getCompactions({}))[0]?.state).toBe("rolled-back");
  expect(await agent.restore({ overlayId: overlayOf(ended) })).toMatchObject({ kind: "applied" });
  await agent.recordUsage({ inputTokens: 10, outputTokens: 1, model: "some" });
  expect(await agent.search({ query: "parser" })).not.toEqual([]);
  expect(await agent.deleteMessages({ ids: ["m2"] })).toBe(1);
  await agent.clearMessages({});
  expect(await agent.getHistory({})).toEqual([]);
  expect(await agent.deleteSession({})).toBe(true);
});
