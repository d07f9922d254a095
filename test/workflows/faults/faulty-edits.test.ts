/**
 * Faults beside a run, in transactions of other callers of the agent, and in late calls of a run.
 *
 * The fault between an append's transaction and the start of its run is in faults.test.ts ("recorded but never dispatched"), and outside
 * the process in test/kill ("died right behind the append").
 */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Db } from "../../../src/memory/db.ts";
import { newAgent, skipRetryDelays, startRun } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { tables } from "../../rows.ts";
import { makeGate, summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

const sessionId = "long!6000";

type Work = (agent: PalimpsestAgent) => Promise<unknown>;

/** Calls of a client that write to several tables at once. */
const WRITES: readonly (readonly [string, Work])[] = [
  ["an edit under an overlay", (agent) => agent.update({ sessionId, message: say(20, "NEW WORDS. ") })],
  ["a deletion under an overlay", (agent) => agent.deleteMessages({ sessionId, ids: ["m20", "m21"] })],
  ["an append that crosses the threshold", (agent) => agent.appendAll({ sessionId, messages: talk(49, 110) })],
];

test.for(WRITES)("%s is done whole or not at all, whichever of its statements fails (M1, C3, R1)", async ([, work]) => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, prompt.kind));
  await agent.waitForRun({ runId: (await startRun(agent, sessionId, 49)).id });
  await runInDurableObject(stub, async (instance: PalimpsestAgent, { storage }) => {
    const { db } = instance.palimpsest;
    const [before, view] = [tables(storage), await instance.getView({ sessionId })];
    let failed = 0;
    for (; ; failed++) {
      const mend = breakStatement(db, failed);
      const refused = await work(instance).then(
        () => "",
        (error: unknown) => String(error),
      );
      mend();
      if (refused === "") break;
      expect(refused).toContain("[storage_full]");
      expect(tables(storage), `statement ${failed}`).toEqual(before);
      expect(await instance.getView({ sessionId }), `statement ${failed}`).toEqual(view);
    }
    expect(failed).toBeGreaterThan(5);
    expect(tables(storage)).not.toEqual(before);
  });
});

/** Makes the nth statement from now fail, like a full disk. Returns a function that undoes it. */
function breakStatement(db: Db, nth: number): () => void {
  let count = 0;
  for (const verb of ["run", "each"] as const) {
    const run = Reflect.get(db, verb) as (...args: unknown[]) => unknown;
    Reflect.set(db, verb, (...args: unknown[]) => {
      if (count++ === nth) throw new Error("database or disk is full: SQLITE_FULL");
      return run.apply(db, args);
    });
  }
  return () => {
    for (const verb of ["run", "each"]) Reflect.deleteProperty(db, verb);
  };
}

test("an attempt to plan that comes after an edit ends the run as stale: old words are never laid over new ones (C3)", async () => {
  const gate = makeGate();
  const { agent, stub } = newAgent(async (prompt, call) => {
    if (prompt.kind === "merge" && call < 5) await gate.pass();
    return summaryOf(prompt, `${prompt.kind}: ${(prompt.transcript ?? "").includes("NEW WORDS") ? "new" : "old"}`);
  });
  const { id } = await startRun(agent, sessionId, 49);
  await gate.reached();
  const { plan } = await agent.getRun({ runId: id });
  await agent.update({ sessionId, message: say(20, "NEW WORDS. ") });
  // The first attempt of the step, which its retry overtook.
  const mark = { step: "plan the cut", attempt: 1 };
  const late = await runInDurableObject(stub, (instance: PalimpsestAgent) =>
    instance.compactionStep(id, "recordPlan", [mark, { kind: "cut", plan, models: ["scripted"], partial: false }]),
  );
  gate.open();
  expect(late).toMatchObject({ kind: "ended", outcome: { kind: "stale", reason: "changed" } });
  expect((await agent.waitForRun({ runId: id })).outcome).toEqual({ kind: "stale", reason: "changed" });
  for (const run of await agent.runs({ sessionId })) await agent.waitForRun({ runId: run.id });
  for (const overlay of await agent.getCompactions({ sessionId })) {
    const originals = await agent.expand({ sessionId, overlayId: overlay.id });
    expect(originals.length).toBeGreaterThan(0);
    expect(overlay.runId).not.toBe(id);
  }
});
