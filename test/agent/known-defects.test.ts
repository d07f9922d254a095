/**
 * Defects of earlier session memories that show only with a running summariser. ../memory/known-defects.test.ts lists them all, with those
 * of the store and the tests that guard them.
 */
import { Session } from "../../src/agent/sessions/session.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { OwnFunction } from "../../src/agent/settings.ts";
import { MAX_CHARS_PER_TOKEN } from "../../src/limits.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { ENOUGH, newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { makeGate, summaryOf } from "../scripted-model.ts";
import type { BuiltAgent, PalimpsestAgent } from "../worker.ts";
import { withNumbers } from "./runs.ts";

skipRetryDelays();

/** Waits for every run of the session, follow-up runs included. Returns the outcomes' kinds, oldest first. */
async function settle(agent: PalimpsestAgent, sessionId = ""): Promise<readonly (string | undefined)[]> {
  for (;;) {
    const runs = await agent.runs({ sessionId, limit: 100 });
    const live = runs.find((run) => run.outcome === null);
    if (live === undefined) return runs.map((run) => run.outcome?.kind).toReversed();
    await agent.waitForRun({ runId: live.id });
  }
}

// --- what the summariser reads ------------------------------------------------------------------------------------------

test("no earlier summary and no message between two of them falls into a gap: each is read, or still shown (M1, V1)", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "all of it"));
  await agent.appendAll({ messages: talk(0, 14) });
  // The first overlay begins where a head would be. The messages after it must not fall into the gap.
  const laid = [
    [1, 2, "first summary"],
    [5, 6, "second summary"],
    [8, 9, "third summary"],
  ] as const;
  for (const [from, to, summary] of laid) await agent.cover({ summary, fromId: `m${from}`, toId: `m${to}` });
  await agent.appendAll({ messages: talk(14, 19) });
  expect(calls).toEqual([]);
  let applied = 0;
  for (;;) {
    const { run } = await agent.compact({});
    const { outcome } = await agent.waitForRun({ runId: run.id });
    if (outcome?.kind !== "applied") break;
    applied++;
    const { messages, elements } = await agent.getView({});
    const seen = textOf(messages);
    const read = calls.map((call) => `${call.previous} ${call.drafts.join(" ")} ${call.transcript}`).join(" ");
    for (const [from, , summary] of laid) {
      const isThere = [summary, `Message ${from}:`].some((words) => read.includes(words)) || seen.includes(summary);
      expect(isThere, summary).toBe(true);
    }
    const covered = await Promise.all(
      elements.map(async (each) =>
        each.kind === "message" ? [each.id] : (await agent.expand({ overlayId: each.id })).map(({ id }) => id),
      ),
    );
    expect(covered.flat()).toEqual(talk(0, 19).map(({ id }) => id));
  }
  expect(applied).toBeGreaterThan(1);
  const read = calls.map((call) => `${call.previous} ${call.drafts.join(" ")} ${call.transcript}`).join(" ");
  // Where few messages lie under a summary, they are read again in its place. A closed one stays in view.
  for (const [from, to, summary] of laid) {
    const isRead = Array.from({ length: to - from + 1 }, (_, at) => read.includes(`Message ${from + at}:`));
    const isThere =
      read.includes(summary) || isRead.every(Boolean) || textOf((await agent.getView({})).messages).includes(summary);
    expect(isThere, summary).toBe(true);
  }
  const seen = textOf((await agent.getView({})).messages);
  for (const n of [3, 4, 7, 10]) expect(`${read} ${seen}`).toContain(`Message ${n}:`);
});

test("a summariser that serves several sessions is given each one's own previous summary (S1)", async () => {
  const { agent, calls } = newAgent((prompt) =>
    summaryOf(prompt, /alpha|beta/.exec(JSON.stringify(prompt))?.[0] ?? "?"),
  );
  for (const [from, to] of [
    [0, 17],
    [17, 27],
  ] as const) {
    for (const sessionId of ["alpha", "beta"]) {
      await agent.appendAll({ sessionId, messages: talk(from, to).map((_, n) => say(from + n, `${sessionId} `)) });
      await settle(agent, sessionId);
    }
  }
  expect(calls.filter(({ previous }) => previous !== null)).toHaveLength(2);
  for (const call of calls) expect(/alpha/.test(JSON.stringify(call))).toBe(!/beta/.test(JSON.stringify(call)));
});

test("a function that serves several sessions is shown one session at a time, its earlier summary included (S1)", async () => {
  const { stub } = newAgent();
  const given: string[] = [];
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const manager = SessionManager.create(instance).onCompaction(async (messages) => {
      given.push(textOf(messages));
      const word = /alpha|beta/.exec(textOf(messages))?.[0] ?? "";
      return { summary: `of ${word}`, fromMessageId: messages[0]?.id ?? "", toMessageId: messages.at(-2)?.id ?? "" };
    });
    for (const from of [0, 4]) {
      for (const id of ["alpha", "beta"]) {
        await manager.appendAll(id, [say(from, id), say(from + 1, id), say(from + 2, id), say(from + 3, id)]);
        const session = manager.getSession(id);
        const { run } = await session.compact();
        expect((await session.ended(run.id)).outcome?.kind).toBe("applied");
      }
    }
  });
  expect(given.map((text) => [text.includes("alpha"), text.includes("beta")])).toEqual([
    [true, false],
    [false, true],
    [true, false],
    [false, true],
  ]);
  expect(given[2]).toContain("of alpha");
});

test("a text of any length is given to the summariser in pieces that it can read", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "long"));
  const huge = talk(0, 12).map((message) => ({
    ...message,
    parts: [{ type: "text" as const, text: "word after word ".repeat(6_000) }],
  }));
  await agent.appendAll({ messages: huge });
  expect(await settle(agent)).toContain("applied");
  const lengths = calls.map((call) => call.transcript?.length ?? 0);
  expect(lengths.length).toBeGreaterThan(1);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(1_500 * MAX_CHARS_PER_TOKEN);
  expect((await agent.getMessage({ id: "m5" }))?.parts).toEqual(huge[5]?.parts);
});

test("a summary within its budget may stay as long as it was when it is carried on, however little is new", async () => {
  const long = "One of many facts that have to be kept. ".repeat(4);
  const { stub, calls } = newAgent((prompt) => summaryOf(prompt, long));
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = withNumbers(Session.create(instance).forSession("carried").compactAfter(2_500), {
      summaryTokens: 420,
    });
    const compact = async (): Promise<unknown> =>
      (await session.ended((await session.compactNow()).run.id)).outcome?.kind;
    await session.appendAll(talk(0, 22));
    expect(await compact()).toBe("applied");
    await session.appendAll(talk(22, 25));
    expect(await compact()).toBe("applied");
  });
  const update = calls.findLast((call) => call.previous !== null);
  expect(estimateTokens(update?.previous ?? "")).toBeGreaterThan(300);
  expect(update?.summaryTokens).toBeGreaterThanOrEqual(estimateTokens(update?.previous ?? ""));
});

// --- how often it is asked ----------------------------------------------------------------------------------------------

let built = 0;

function nod(n: number): UIMessage {
  return { id: `nod-${n}`, role: "user", parts: [{ type: "text", text: "Yes." }] };
}

test.each<[string, OwnFunction, "failed" | "nothing"]>([
  ["throws", () => Promise.reject(new Error("down")), "failed"],
  ["returns nothing", async () => null, "nothing"],
])(
  "a function that %s is not called again by each append, and its handler hears of each failure once (R1)",
  async (_what, summarise, kind) => {
    const failures = kind === "failed" ? 1 : 0;
    const agents = env.BuiltAgent;
    const stub = agents.get(agents.idFromName(`known-defects-${built++}`));
    await runInDurableObject(stub, async (instance: BuiltAgent) => {
      let calls = 0;
      instance.summarise = (...asked) => {
        calls += 1;
        return summarise(...asked);
      };
      const { inlineFirst: session } = instance;
      await session.appendAll(talk(0, 17));
      const ended = async (n: number): Promise<void> => {
        const [run] = instance.palimpsest.runs.list("inline", { limit: 10 });
        expect(run?.n).toBe(n);
        expect((await session.ended(run?.id ?? "")).outcome?.kind).toBe(kind);
      };
      await ended(1);
      for (let n = 0; n < 10; n++) await session.appendMessage(nod(n));
      expect([calls, instance.reported.length]).toEqual([1, failures]);
      // Only when there is that much more to gain is it worth another call.
      await session.appendAll(talk(17, 24));
      await ended(2);
      expect([calls, instance.reported.length]).toEqual([2, 2 * failures]);
    });
  },
);

test("appends at the same time start one run and one call (R2)", async () => {
  const gate = makeGate();
  const { agent, calls } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  await agent.appendAll({ messages: talk(0, 15) });
  await Promise.all(talk(15, 20).map((message) => agent.append({ message })));
  await gate.reached();
  expect(await agent.runs({})).toHaveLength(1);
  gate.open();
  expect(await settle(agent)).toEqual(["applied"]);
  expect(calls).toHaveLength(1);
  expect((await agent.getCompactions({})).filter(({ state }) => state === "active")).toHaveLength(1);
});

test("a conversation of 300 messages is compacted a few times, each for a span worth a call", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  const sessionId = "long!6000";
  for (const message of talk(0, 300)) {
    await agent.append({ sessionId, message });
    await settle(agent, sessionId);
  }
  const outcomes = await settle(agent, sessionId);
  expect(new Set(outcomes)).toEqual(new Set(["applied"]));
  expect(outcomes.length).toBeLessThanOrEqual(300 / 20);
  expect(calls.length).toBeLessThanOrEqual(5 * outcomes.length);
  expect(await agent.status({ sessionId })).toMatchObject({ leafId: "m299", liveRunIds: [] });
}, 120_000);

// --- after a delete -----------------------------------------------------------------------------------------------------

test("compaction goes on after both ends of its summary were deleted, and nothing else is missing (M1, V1)", async () => {
  const { agent } = newAgent((prompt, call) => summaryOf(prompt, `summary ${call}`));
  const run = await startRun(agent);
  const { plan } = await agent.waitForRun({ runId: run.id });
  const gone = [plan?.span.fromId, plan?.span.toId];
  await agent.deleteMessages({ ids: gone.filter((id) => id !== undefined) });
  await settle(agent);
  const shown = textOf((await agent.getView({})).messages);
  expect(shown).not.toContain("summary 0");
  await agent.appendAll({ messages: talk(ENOUGH, ENOUGH + 6) });
  expect((await settle(agent)).at(-1)).toBe("applied");
  expect((await agent.status({})).viewTokens).toBeLessThan(2_000);
  const active = (await agent.getCompactions({})).find(({ state }) => state === "active");
  const { messages, elements } = await agent.getView({ apart: true });
  const ids = elements.flatMap((element) => (element.kind === "message" ? [element.id] : []));
  const under = (await agent.expand({ overlayId: active?.id ?? "" })).map(({ id }) => id);
  const kept = talk(0, ENOUGH + 6)
    .map(({ id }) => id)
    .filter((id) => !gone.includes(id));
  expect([...ids, ...under].toSorted()).toEqual(kept.toSorted());
  expect(messages).toHaveLength(elements.length);
});
