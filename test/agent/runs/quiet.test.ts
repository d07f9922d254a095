/** After a run. Tests which later runs are started and when, and that vain runs do not repeat. Each bug was reported by a user. */
import { Session } from "../../../src/agent/sessions/session.ts";
import type { UIMessage } from "ai";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import { newAgent, skipRetryDelays, startRun } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { openGates } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { kinds, settle, sound, withPolicy } from "../runs.ts";

skipRetryDelays();

afterEach(openGates);

/** A session whose own function counts how often it is asked. */
function countedBy(instance: PalimpsestAgent, answer: () => null) {
  let count = 0;
  const session = Session.create(instance)
    .compactAfter(2_000)
    .onCompaction(async () => {
      count++;
      return answer();
    });
  const ended = async (): Promise<void> => {
    for (const run of instance.palimpsest.runs.live("")) await session.ended(run.id);
  };
  return { session, asked: () => count, ended };
}

// --- bugs that others had -------------------------------------------------------------------------------------------------

test("the same failing compaction is not repeated for ever", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const { session, asked, ended } = countedBy(instance, () => {
      throw new Error("always");
    });
    for (let n = 0; n < 300; n++) {
      await session.appendMessage(say(n));
      await ended();
    }
    // The required growth doubles each time, up to 30,000 tokens over a threshold of 2,000.
    expect(asked()).toBeLessThanOrEqual(10);
    expect(instance.palimpsest.runs.latestEnded("")?.outcome).toMatchObject({ kind: "failed" });
    expect(await session.status()).toMatchObject({ waiting: { reason: "cooling-down" } });
  });
});

test("a person who asks right after a run failed is not told to cool down", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    let isDown = true;
    const session = Session.create(instance)
      .compactAfter(20_000)
      .onCompaction(async () => {
        if (isDown) throw new Error("down");
        return { summary: "short", fromMessageId: "m2", toMessageId: "m5" };
      });
    await session.appendAll(talk(0, 8));
    const compact = async () => (await session.ended((await session.compact()).run.id)).outcome;
    expect(await compact()).toMatchObject({ kind: "failed" });
    isDown = false;
    expect(await compact()).toMatchObject({ kind: "applied" });
  });
});

test("a policy that can never shrink anything ends in one typed reason, once, not at every append", async () => {
  const { agent, calls } = await withPolicy(sound, { tail: { messages: 1_000 } });
  for (let n = 0; n < 100; n++) {
    await agent.append({ message: say(n) });
    await settle(agent);
  }
  expect(await agent.runs({})).toMatchObject([{ outcome: { kind: "nothing", reason: "too-short" } }]);
  const waiting = { reason: "too-short", advice: expect.stringContaining("Lower head or tail") };
  expect((await agent.status({})).waiting).toMatchObject(waiting);
  await agent.compact({ ignoreBudget: true });
  expect((await settle(agent)).at(-1)?.outcome).toMatchObject({ kind: "nothing", reason: "too-short" });
  expect(calls).toEqual([]);
});

test("after a clear, and after a delete, the size that an earlier run was measured at keeps nothing quiet", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const { session, asked, ended } = countedBy(instance, () => null);
    const say50 = async (from: number) => {
      await session.appendAll(talk(from, from + 50));
      await ended();
    };
    await say50(0);
    expect(asked()).toBe(1);
    await session.clearMessages();
    for (let n = 100; n < 120; n++) await session.appendMessage(say(n));
    await ended();
    expect(asked()).toBeGreaterThan(1);
    await say50(200);
    const before = asked();
    const ids = (await session.getHistory()).map(({ id }) => id);
    await session.deleteMessages(ids.slice(5));
    for (let n = 300; n < 320; n++) await session.appendMessage(say(n));
    await ended();
    expect(asked()).toBeGreaterThan(before);
  });
});

test("a summary that is never smaller than its source is not asked for at every append", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance)
      .compactAfter(2_000)
      .onCompaction(async (messages) => ({
        summary: "word after word ".repeat(20_000),
        fromMessageId: messages[3]?.id ?? "",
        toMessageId: messages.at(-3)?.id ?? "",
      }));
    for (let n = 0; n < 100; n++) {
      await session.appendMessage(say(n));
      for (const run of instance.palimpsest.runs.live("")) await session.ended(run.id);
    }
    const runs = instance.palimpsest.runs.list("", { limit: 100 });
    expect(runs.length).toBeLessThanOrEqual(8);
    expect(runs[0]?.outcome).toEqual({ kind: "stale", reason: "larger" });
    expect((await session.status()).waiting?.reason).toBe("would-not-shrink");
  });
});

test("stale token counts do not trigger every turn", async () => {
  const { agent, stub } = newAgent(sound);
  await startRun(agent);
  await settle(agent);
  const before = (await agent.runs({})).length;
  // A caller that, after each turn, tells the count of the prompt before the summary came in.
  for (let n = 17; n < 40; n++) {
    await agent.append({ message: { id: `t${n}`, role: "user", parts: [{ type: "text", text: "go on" }] } });
    await runInDurableObject(stub, (instance: PalimpsestAgent) =>
      Session.create(instance).recordUsage({ inputTokens: 2_600 }),
    );
    await settle(agent);
  }
  expect((await agent.runs({})).length - before).toBeLessThanOrEqual(3);
});

test("a huge output that a summary had to keep is hidden as soon as the newest messages are others, and runs stay few", async () => {
  for (const threshold of [12_000, "auto"] as const) {
    const { stub } = newAgent(sound);
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const bound = threshold === "auto" ? { ceiling: 12_000 } : {};
      const session = Session.create(instance).compactAfter(threshold, { ...bound, head: 1 });
      const sizes: number[] = [];
      const add = async (message: UIMessage): Promise<void> => {
        await session.appendMessage(message);
        await settle(instance);
        sizes.push((await session.status()).viewTokens);
      };
      for (let n = 0; n < 60; n++) await add(say(n));
      const before = (await settle(instance)).length;
      await add(read("huge", 30_000));
      expect(sizes.at(-1)).toBeGreaterThan(20_000);
      // Three small messages, far less than the growth that a run usually waits for.
      for (let n = 100; n < 103; n++) await add({ ...say(n), parts: [{ type: "text", text: "Go on." }] });
      expect(sizes.at(-1)).toBeLessThan(12_000);
      const runs = await settle(instance);
      expect(new Set(kinds(runs))).toEqual(new Set(["applied"]));
      expect(runs.length - before).toBeLessThanOrEqual(2);
    });
  }
});

test("while the huge output is among the newest messages, no run is started that leaves the view over its threshold", async () => {
  const { stub } = newAgent(sound);
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance).compactAfter(12_000, { head: 1 });
    const add = async (message: UIMessage): Promise<number> => {
      await session.appendMessage(message);
      return (await settle(instance)).length;
    };
    for (let n = 0; n < 10; n++) await add(say(n));
    await add(read("before", 1_500));
    const one = await add(read("huge", 30_000));
    expect(one).toBe(1);
    // The output before the huge one leaves the kept messages. To hide it alone would write the huge one anew.
    expect(await add({ ...say(100), parts: [{ type: "text", text: "Go on." }] })).toBe(one);
    expect(await add({ ...say(101), parts: [{ type: "text", text: "Go on." }] })).toBe(one + 1);
    expect((await session.status()).viewTokens).toBeLessThan(12_000);
  });
});

test("so it is in a reply that grows by steps, and where the huge step stays nothing is asked for again", async () => {
  const { stub } = newAgent(sound);
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance).compactAfter(12_000, { head: 1 });
    const parts: UIMessage["parts"] = [];
    const step = async (n: number, tokens: number): Promise<number> => {
      parts.push({ type: "step-start" }, ...read(`r${n}`, tokens).parts);
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
      return (await settle(instance)).length;
    };
    await session.appendAll([say(0), { id: "reply", role: "assistant", parts }]);
    for (let n = 1; n <= 15; n++) await step(n, 400);
    const huge = await step(16, 30_000);
    expect(await step(17, 10)).toBe(huge + 1);
    expect((await session.status()).viewTokens).toBeLessThan(12_000);
    expect(await step(18, 10)).toBe(huge + 1);
  });
});

/** A call with an output of so many tokens. */
function read(id: string, tokens: number): UIMessage {
  const output = `${id} says some words. `.repeat(tokens / 5);
  const call = { toolCallId: id, state: "output-available", input: {}, output } as const;
  return { id, role: "assistant", parts: [{ type: "tool-read", ...call }] };
}

/** Runs of 60 turns at a threshold of 8,000, with so many tokens of instructions and tools. */
async function runsBeside(unseen: number): Promise<number> {
  const { agent, stub } = await withPolicy(sound, {}, 8_000);
  for (let n = 0; n < 120; n += 2) {
    await agent.appendAll({ messages: talk(n, n + 2) });
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const session = Session.create(instance);
      const { tokens } = await session.getView();
      await session.recordUsage({ inputTokens: tokens + unseen, outputTokens: 20, viewTokens: tokens });
    });
    await settle(agent);
  }
  return (await settle(agent)).length;
}

test("instructions and tools over the threshold cost a few runs more, and not one at every turn", async () => {
  expect(await runsBeside(30_000)).toBeLessThanOrEqual((await runsBeside(0)) + 3);
});
