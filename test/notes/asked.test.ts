/** A compaction that asks for an update of the notes itself: for one, and for no model of its own. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { LiveRun, RunRecord } from "../../src/memory/runs/runs.ts";
import { newAgent, skipRetryDelays, stubOf } from "../agents.ts";
import { talk } from "../conversation.ts";
import { noting, ofKind, rest } from "../noted.ts";
import type { Script } from "../scripted-model.ts";
import { keptNotes, type PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

/** Threshold 4,000, and chunks so large that one call reads all that the first compaction hides. */
const SESSION = "wide and asked!4000";
/** The first messages that cross the threshold. */
const ENOUGH = 36;
/** How long a compaction waits for an update that is at work (ms). It is less than the time between two looks of the watchdog. */
const PATIENCE = 5_000;

type CreateInstance = (run: LiveRun, create: () => Promise<"created" | "joined">) => Promise<"created" | "joined">;

/** An agent whose engine takes runs as it is told. */
async function newAsked(script: Script, createInstance: CreateInstance = (_, create) => create()) {
  const made = newAgent(script);
  await runInDurableObject(made.stub, ({ name, palimpsest: { platform } }: PalimpsestAgent) => {
    keptNotes.set(`${name}/${SESSION}`, { keep: { minTextBlockMessages: 1 }, toolCalls: 0, waitMs: PATIENCE });
    const create = platform.createInstance.bind(platform);
    platform.createInstance = (run) => createInstance(run, () => create(run));
  });
  return made;
}

function askedFor(runs: readonly RunRecord[]): RunRecord[] {
  return ofKind(runs, "notes").filter(({ trigger }) => trigger === "compaction");
}

test("asks for one update before each, and for no model of its own", async () => {
  const { agent, calls } = await newAsked(noting);
  await agent.appendAll({ sessionId: SESSION, messages: talk(0, ENOUGH) });
  await rest(agent, SESSION);
  await agent.appendAll({ sessionId: SESSION, messages: talk(ENOUGH, 2 * ENOUGH) });
  const runs = await rest(agent, SESSION);
  const served = { path: "notes", modelCalls: 0, outcome: { kind: "applied" } };
  expect(ofKind(runs, "compaction")).toMatchObject([served, served]);
  expect(ofKind(runs, "notes")).toMatchObject(
    [2, 1].map((version) => ({ trigger: "compaction", modelCalls: 1, outcome: { kind: "noted", version } })),
  );
  expect(new Set(calls.map(({ kind }) => kind))).toEqual(new Set(["notes"]));
});

/** Refuses to keep notes, and summarises. */
const unusable: Script = (prompt, call, runId) =>
  prompt.kind === "notes" ? "I cannot help with that." : noting(prompt, call, runId);

test("asks for no second update where the engine does not take it at once", async () => {
  let refusals = 0;
  const { agent } = await newAsked(unusable, async (run, create) => {
    if (run.kind === "compaction" && ++refusals <= 3) throw new Error("The engine is busy.");
    return create();
  });
  await agent.appendAll({ sessionId: SESSION, messages: talk(0, ENOUGH) });
  while ((await agent.status({ sessionId: SESSION })).liveRunIds.length > 0) {
    await agent.watchCompactions();
    await scheduler.wait(1);
  }
  const runs = await rest(agent, SESSION);
  expect(ofKind(runs, "compaction")).toMatchObject([{ path: "model", outcome: { kind: "applied" } }]);
  expect(askedFor(runs)).toMatchObject([{ outcome: { kind: "failed" } }]);
});

test("and waits for it, the watchdog begins both after a restart", async () => {
  const { name, agent } = await newAsked(noting, () => Promise.reject(new Error("The engine is busy.")));
  await agent.appendAll({ sessionId: SESSION, messages: talk(0, ENOUGH) });
  while (askedFor(await agent.runs({ sessionId: SESSION })).length === 0) await scheduler.wait(1);
  await abortAllDurableObjects();
  const watched = stubOf(name).watchCompactions();
  const runs = await rest(stubOf(name), SESSION);
  await watched;
  expect(askedFor(runs)).toMatchObject([{ outcome: { kind: "noted" } }]);
  expect(ofKind(runs, "compaction")).toMatchObject([{ path: "notes" }]);
});

test.each([1, 2])(
  "up to a summary, because large messages are all that stands behind it, ends with an outcome (%i messages behind)",
  async (behind) => {
    const { agent, stub } = newAgent(noting);
    const sessionId = "wide";
    await runInDurableObject(stub, ({ name }: PalimpsestAgent) => {
      keptNotes.set(`${name}/${sessionId}`, { keep: { minTextBlockMessages: 1 }, toolCalls: 0 });
    });
    // Messages, and a summary of those behind them.
    await agent.appendAll({ sessionId, messages: talk(0, 10) });
    await agent.addCompaction({
      sessionId,
      fromMessageId: "m6",
      toMessageId: "m9",
      summary: "They changed files.",
    });
    for (let n = 0; n < behind; n++) {
      await agent.append({
        sessionId,
        message: { id: `large${n}`, role: "user", parts: [{ type: "text", text: "word ".repeat(2_600 / behind) }] },
      });
    }
    const runs = await rest(agent, sessionId);
    expect(ofKind(runs, "notes").filter(({ outcome }) => outcome?.kind === "failed")).toEqual([]);
  },
);
