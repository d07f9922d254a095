/**
 * A conversation many times as long as its summariser's window, sixty times where everything runs. It is summarised in chunks that fit, each of them once, whatever happens
 * on the way. Everything that comes later uses the paid drafts again (R3).
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { newAgent, skipRetryDelays, stubOf } from "../agents.ts";
import { talk } from "../conversation.ts";
import { settled } from "../engine.ts";
import { makeGate, narrowModel, scriptModel, summaryOf } from "../scripted-model.ts";
import { wordFor } from "../word-for.ts";
import { everything } from "../tries.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { planFault, planOf, type Fault } from "./faults/faulty-run.ts";

skipRetryDelays();

const WINDOW = 16_000;
const THRESHOLD = 60_000;
/** Its summaries leave a narrow model room for its source. */
const sessionId = `wide terse!${THRESHOLD}`;
/** So many drafts with this are too much for one call. */
const LONG_WINDED = " It is all in order, and it was looked at twice by two who know it.".repeat(4);

/** Some two hundred and fifty tokens, unlike any other. */
function tell(n: number): UIMessage {
  const text = `Step ${n}: we moved the part ${n} of the store behind its port, and its test ${n} holds it there. `;
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text: text.repeat(8) }] };
}

/** A conversation that takes a few dozen calls. */
const SHORT = Array.from({ length: 1_100 }, (_, n) => tell(n));
/** Over a million tokens, where everything runs. */
const BACKLOG = everything ? Array.from({ length: 4_200 }, (_, n) => tell(n)) : SHORT;

/** An agent whose summariser is narrow, and tells what it was asked and whether that was paid for already. */
function narrowAgent(hold: (call: number) => Promise<void> = async () => undefined) {
  const { name } = newAgent();
  const sizes = narrowModel(name, WINDOW);
  const asked: string[] = [];
  const paid = { twice: 0 };
  scriptModel(name, async (prompt: ParsedPrompt) => {
    const key = wordFor(prompt.kind, prompt.transcript ?? "", prompt.previous ?? "", ...prompt.drafts);
    const text = summaryOf(prompt, `- Told of ${key}.${prompt.kind === "chunk" ? LONG_WINDED : ""}`);
    await hold(asked.push(key));
    const plan = planOf(name);
    if (plan?.stored.has(text)) paid.twice++;
    plan?.answered.add(text);
    return text;
  });
  const watch = (fault: Fault | null = null, at = 0) => planFault(name, { fault, at });
  return { name, agent: stubOf(name), sizes, asked, paid, watch };
}

/** Waits for every run of the session, on new stubs where a reset broke one. Newest first. */
async function untilEnded(name: string, session = sessionId): Promise<RunRecord[]> {
  for (;;) {
    try {
      const runs = await stubOf(name).runs({ sessionId: session });
      const live = runs.find((run) => run.outcome === null);
      if (live === undefined) return runs;
      await stubOf(name).waitForRun({ runId: live.id });
    } catch {
      await scheduler.wait(1);
    }
  }
}

/** Each message is in the view once, by itself or under one summary, as it was said (M1, V1). */
async function expectWhole(agent: PalimpsestAgent, said: readonly UIMessage[], session = sessionId): Promise<void> {
  const { elements } = await agent.getView({ sessionId: session });
  const originals = elements.map(async ({ kind, id }) =>
    kind === "overlay"
      ? agent.expand({ sessionId: session, overlayId: id })
      : [await agent.getMessage({ sessionId: session, id })],
  );
  expect((await Promise.all(originals)).flat()).toEqual(said);
  const { viewTokens, liveRunIds } = await agent.status({ sessionId: session });
  expect(viewTokens).toBeLessThan(THRESHOLD);
  expect(liveRunIds).toEqual([]);
}

test("a backlog that comes in one batch is told in calls that fit the window, each chunk once (M1, V1, R3)", async () => {
  const { name, agent, sizes, asked, watch, paid } = narrowAgent();
  watch();
  await agent.appendAll({ sessionId, messages: BACKLOG });
  expect((await agent.status({ sessionId })).viewTokens).toBeGreaterThan(everything ? 1_000_000 : 4 * THRESHOLD);
  const runs = await untilEnded(name);
  for (const { outcome } of runs) expect(outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW);
  expect(new Set(asked).size).toBe(asked.length);
  expect(asked.length).toBe(runs.reduce((sum, run) => sum + run.modelCalls, 0));
  expect(paid.twice).toBe(0);
  await expectWhole(agent, BACKLOG);
});

test("in pages, with the agent's object reset in the middle: no call more than those under way (M1, V1, R1, R3)", async () => {
  const { name, agent, sizes, asked, watch, paid } = narrowAgent();
  const plan = watch("reset after", everything ? 200 : 40);
  const page = Math.ceil(BACKLOG.length / 5);
  for (let from = 0; from < BACKLOG.length; from += page) {
    const messages = BACKLOG.slice(from, from + page);
    // A client whose call was lost sends it again. Stored ids make that a no-op.
    await agent.appendAll({ sessionId, messages }).catch(() => stubOf(name).appendAll({ sessionId, messages }));
  }
  const runs = await untilEnded(name);
  expect(plan.fired).toBe(true);
  for (const { outcome } of runs) expect(outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW);
  expect(asked.length).toBeLessThanOrEqual(new Set(asked).size + plan.underWay);
  expect(paid.twice).toBe(0);
  await expectWhole(stubOf(name), BACKLOG);
});

// --- used again -----------------------------------------------------------------------------------------------------------

/** Compacted once, so that another run over the same messages must find its drafts. */
async function compacted(session = sessionId, messages: readonly UIMessage[] = SHORT) {
  const made = narrowAgent();
  await made.agent.appendAll({ sessionId: session, messages });
  const runs = await untilEnded(made.name, session);
  // Merged in more than one round. The texts between chunks and overlay are in no overlay's lineage.
  expect(runs.flatMap(({ steps }) => steps.map(({ name }) => name))).toContainEqual(expect.stringContaining("round 2"));
  return { ...made, calls: made.asked.length };
}

/** Takes every summary away and asks for a run. */
async function compactAgain(
  { name, agent }: { name: string; agent: PalimpsestAgent },
  session = sessionId,
): Promise<RunRecord> {
  for (const { id, state } of (await agent.getCompactions({ sessionId: session })).toReversed()) {
    if (state === "active") await agent.rollback({ sessionId: session, overlayId: id });
  }
  await agent.compact({ sessionId: session });
  const [newest] = await untilEnded(name, session);
  if (newest === undefined) throw new Error("There was no run.");
  expect(newest.outcome).toMatchObject({ kind: "applied", degraded: false });
  return newest;
}

test("a run that is cancelled half way is taken up by its retry: only what was under way is asked for again (R3)", async () => {
  const gate = makeGate();
  const { name, agent, asked, paid, watch } = narrowAgent(async (call) => {
    if (call === 12) await gate.pass();
  });
  watch();
  await agent.appendAll({ sessionId, messages: SHORT });
  await gate.reached();
  const [run] = await agent.runs({ sessionId });
  await agent.cancelRun({ runId: run?.id ?? "" });
  gate.open();
  await settled(run?.id ?? "");
  const before = asked.length;
  await agent.retryRun({ runId: run?.id ?? "" });
  const [retried] = await untilEnded(name);
  expect(retried?.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(paid.twice).toBe(0);
  expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(4);
  expect(retried?.modelCalls).toBe(asked.length - before);
  await expectWhole(agent, SHORT);
});

test("a later run over the same messages makes no call, however often its summaries are taken away (R3)", async () => {
  const made = await compacted();
  expect(await compactAgain(made)).toMatchObject({ modelCalls: 0 });
  expect(await compactAgain(made)).toMatchObject({ modelCalls: 0 });
  expect(made.asked).toHaveLength(made.calls);
  await expectWhole(made.agent, SHORT);
});

test("a fork makes no call for what its parent paid for, though the parent was deleted before it asked (R3, S2)", async () => {
  // Sessions of a default id have one policy, which a fork's fresh id has as well.
  const made = await compacted("", talk(0, 160));
  const { id } = await made.agent.forkSession({ atMessageId: "m159" });
  const short = await made.agent.forkSession({ atMessageId: "m20" });
  await made.agent.deleteSession({});
  expect(await compactAgain(made, id)).toMatchObject({ modelCalls: 0 });
  expect(made.asked).toHaveLength(made.calls);
  // A fork that holds the beginning alone is told of no more than that.
  const stub = env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(made.name));
  const kept = await runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) =>
    palimpsest.memory.sessions
      .draftSources(short.id)
      .map(({ key }) => palimpsest.memory.drafts.get(short.id, key)?.facts),
  );
  expect(kept.length).toBeGreaterThan(0);
  expect(JSON.stringify(kept)).toContain("parser-6.ts");
  expect(JSON.stringify(kept)).not.toContain("parser-24.ts");
});
