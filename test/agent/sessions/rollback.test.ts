/** A transaction that rolls back leaves nothing in storage and nothing in the caches of it. */
import { Session } from "../../../src/agent/sessions/session.ts";
import type { FullSession } from "../../rooms.ts";
import type { UIMessage } from "ai";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { newAgent, refusalOf, skipRetryDelays, startRun, stubOf } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { makeGate, openGates, summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { settle, sound, withPolicy } from "../runs.ts";

skipRetryDelays();

afterEach(openGates);

/** Does the work in a transaction of the agent's own code, which then fails for a reason of its own. */
async function takeBack(stub: DurableObjectStub, work: (agent: PalimpsestAgent, session: FullSession) => unknown) {
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const refused = await refusalOf(async () =>
      instance.palimpsest.db.transaction<void>(() => {
        void work(instance, Session.create(instance));
        throw new Error("the rest of it failed");
      }),
    );
    expect(refused).toBe("the rest of it failed");
  });
}

function branch(word: string): UIMessage[] {
  return talk(4, 22).map((message, n) => ({ ...say(4 + n, `${word} `), id: `${word}-${message.id}` }));
}

test("a leaf that was taken back is on no run's branch: the same id elsewhere starts a run of its own (R2)", async () => {
  const gate = makeGate();
  const { agent, stub } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  await agent.appendAll({ messages: talk(0, 4) });
  await agent.appendAll({ messages: branch("left"), parentId: "m3" });
  await gate.reached();
  const last = { ...say(99), id: "last" };
  await takeBack(stub, (_, session) => session.appendMessage(last));
  await agent.appendAll({ messages: [...branch("right"), last], parentId: "m3" });
  expect((await agent.status({})).liveRunIds).toHaveLength(2);
  gate.open();
  await settle(agent);
});

test("a view that was taken back keeps no trigger quiet: the next append is measured by what is stored (R4)", async () => {
  const { agent, stub } = await withPolicy(sound, { tail: { messages: 40 } });
  await agent.appendAll({ messages: talk(0, 30) });
  expect(await settle(agent)).toMatchObject([{ outcome: { kind: "nothing", reason: "too-short" } }]);
  await takeBack(stub, (_, session) => session.appendMessage({ ...say(500), id: "huge", parts: hugeParts() }));
  for (const message of talk(30, 80)) await agent.append({ message });
  expect((await settle(agent)).map(({ outcome }) => outcome?.kind)).toContain("applied");
});

function hugeParts(): UIMessage["parts"] {
  return [{ type: "text", text: "word after word ".repeat(20_000) }];
}

const sessionId = "long!6000";

/** A run at work on summaries of which one was just taken away by an edit. */
async function editedMeanwhile() {
  const gate = makeGate();
  let rebuilding = false;
  const { name, agent, stub } = newAgent(async (prompt) => {
    if (rebuilding) await gate.pass();
    return summaryOf(prompt, "done");
  });
  await agent.waitForRun({ runId: (await startRun(agent, sessionId, 49)).id });
  const [overlay] = await agent.getCompactions({ sessionId });
  const middle = overlay?.details.madeOf[1];
  if (middle?.kind !== "leaf") throw new Error("The overlay is made of chunks.");
  rebuilding = true;
  const { run } = await agent.compact({ sessionId, rebuild: true, fresh: true });
  await gate.reached();
  await agent.update({ sessionId, message: say(Number(middle.fromId.slice(1)) + 1, "NEW WORDS. ") });
  return { name, agent, stub, run, gate };
}

test("a mend that waits for a run's end is not lost when that end is taken back", async () => {
  const { agent, stub, run, gate } = await editedMeanwhile();
  await takeBack(stub, ({ palimpsest }) => palimpsest.dispatcher.end(run.id, { kind: "cancelled" }));
  expect((await agent.getRun({ runId: run.id })).outcome).toBeNull();
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "stale" });
  expect((await settle(agent, sessionId)).at(-1)).toMatchObject({ only: "mend", outcome: { kind: "applied" } });
});

test("a mend that waits for a run's end is not lost when the object dies meanwhile", async () => {
  const { name, run, gate, stub } = await editedMeanwhile();
  await evictDurableObject(stub);
  gate.open();
  const agent = stubOf(name);
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "stale" });
  expect((await settle(agent, sessionId)).at(-1)).toMatchObject({ only: "mend", outcome: { kind: "applied" } });
});

test("an end that was taken back is told to nobody, and one that is told stands (R1)", async () => {
  const gate = makeGate();
  const { agent, stub } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  const run = await startRun(agent);
  await gate.reached();
  const told: unknown[] = [];
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    void Session.create(instance)
      .ended(run.id)
      .then(({ outcome }) => told.push(outcome?.kind));
  });
  await takeBack(stub, ({ palimpsest }) => palimpsest.dispatcher.end(run.id, { kind: "cancelled" }));
  await runInDurableObject(stub, () => scheduler.wait(0));
  expect(told).toEqual([]);
  gate.open();
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  await runInDurableObject(stub, () => scheduler.wait(0));
  expect(told).toEqual(["applied"]);
});

test.for(["transactionSync", "transaction", "rollback"] as const)(
  "what the agent's own storage.%s takes back leaves no trace in memory: the session is read and written on (M1)",
  async (how) => {
    const { agent, stub } = newAgent();
    // The first append makes the tables, which a rollback takes away as well.
    for (const first of [true, false]) {
      await runInDurableObject(stub, async (instance: PalimpsestAgent, { storage }) => {
        const session = Session.create(instance);
        const append = () => session.appendMessage(say(77));
        if (how === "transactionSync") {
          const failing = () => {
            void append();
            throw new Error("the rest of it failed");
          };
          expect(() => storage.transactionSync(failing)).toThrow("the rest of it failed");
        } else {
          const ended = storage.transaction(async (transaction) => {
            await append();
            if (how === "rollback") transaction.rollback();
            else throw new Error("the rest of it failed");
          });
          await ended.catch(() => undefined);
        }
        expect(await session.getMessage("m77")).toBeNull();
        expect((await session.status()).leafId).toBe(first ? null : "m3");
      });
      if (first) await agent.appendAll({ messages: talk(0, 4) });
    }
    expect(await agent.append({ message: say(5) })).toMatchObject({ inserted: true });
    const expected = ["m0", "m1", "m2", "m3", "m5"];
    expect((await agent.getHistory()).map(({ id }) => id)).toEqual(expected);
    await evictDurableObject(stub);
    expect((await agent.getView({ apart: true })).messages.map(({ id }) => id)).toEqual(expected);
  },
);
