/** Every durable place of an update of notes, and every fault that can happen there. */
import { env } from "cloudflare:workers";
import pMap from "p-map";
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays, stubOf } from "../agents.ts";
import { talk } from "../conversation.ts";
import { noting, rest, SESSION } from "../noted.ts";
import { FAULTS, planFault, type Fault } from "../workflows/faults/faulty-run.ts";

skipRetryDelays();

const AT_ONCE = 4;

/** Calls again on a new stub, as a client does whose call was lost in a reset of the agent. */
async function persist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch {
      await scheduler.wait(1);
    }
  }
}

/** One update in a new agent, with at most one fault. */
async function happen(fault: Fault | null = null, at = 0) {
  const { name, calls } = newAgent(noting);
  const plan = planFault(name, { fault, at });
  await persist(async () => stubOf(name).appendAll({ sessionId: SESSION, messages: talk(0, 8) }));
  const runs = await persist(async () => rest(stubOf(name)));
  for (const { id } of runs) {
    while ((await (await env.COMPACTION_WORKFLOW.get(id)).status()).status !== "complete") await scheduler.wait(1);
  }
  while (plan.late?.done === false) await scheduler.wait(1);
  const versions = await persist(async () => stubOf(name).notesHistory({ sessionId: SESSION }));
  const kept = versions.map(({ createdAt: _at, runId: _run, ...version }) => version);
  return { plan, calls, state: { kept, outcomes: runs.map(({ kind, outcome }) => [kind, outcome]) } };
}

test.for(FAULTS)("%s, at any place: it ends as if nothing had happened (C1, R1, R3)", async (fault) => {
  const { plan: calm, state: expected } = await happen();
  expect(expected.outcomes).toMatchObject([["notes", { kind: "noted", version: 1 }]]);
  const places = fault === "result lost" ? calm.steps : calm.calls;
  await pMap(
    places,
    async (place, index) => {
      const { plan, calls, state } = await happen(fault, index + 1);
      expect(plan.fired, `${fault}: ${place}`).toBe(true);
      expect(state, `${fault}: ${place}`).toEqual(expected);
      // Asked again only where the answer was not stored yet when it happened.
      const lost = place === "saveDraft" && !fault.endsWith("after") && fault !== "result lost";
      expect(calls.length, `${fault}: ${place}`).toBeLessThanOrEqual(lost ? 2 : 1);
    },
    { concurrency: AT_ONCE },
  );
});
