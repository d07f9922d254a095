/**
 * An answer that an audit refused was paid for as well. A repeated step reuses the recorded refusal, unless a caller asks for the step
 * again (R3).
 */
import { afterEach, expect, test } from "vitest";
import { newAgent, skipRetryDelays, startRun, stubOf } from "../agents.ts";
import { talk } from "../conversation.ts";
import { noting, rest, SESSION } from "../noted.ts";
import { makeGate, openGates, summaryOf } from "../scripted-model.ts";
import { planFault, type Fault } from "./faults/faulty-run.ts";
import { happen, SHAPES } from "./faults/faulty-shapes.ts";

skipRetryDelays();
afterEach(openGates);

/** Takes away the result of a step, or all of them, when the first answer is stored. */
const FORGETTING: readonly Fault[] = ["result lost", "restart after"];

function placeOf({ calls, steps }: { calls: readonly string[]; steps: readonly string[] }, fault: Fault, verb: string) {
  const at = fault === "result lost" ? steps.findIndex((step) => step.startsWith(verb)) : calls.indexOf("saveDraft");
  expect(at).not.toBe(-1);
  return at + 1;
}

test.for(FORGETTING)("%s behind a refused summary: it is repaired, and not asked for again (R3)", async (fault) => {
  const shape = SHAPES.find(({ name }) => name === "a repair");
  if (shape === undefined) throw new Error("There is no shape that repairs.");
  const calm = await happen(shape);
  expect(calm.paid).toMatchObject({ asked: 2, unsound: 1 });
  const { plan, paid, state } = await happen(shape, fault, placeOf(calm.plan, fault, "summarize"));
  expect(plan.fired).toBe(true);
  expect(paid).toEqual(calm.paid);
  expect(state).toEqual(calm.state);
});

/** An update whose first answer is of no shape. */
async function update(fault: Fault | null, at = 0) {
  const { name, calls } = newAgent((prompt, n, runId) =>
    prompt.problems.length === 0 ? "I looked at it." : noting(prompt, n, runId),
  );
  const plan = planFault(name, { fault, at });
  await stubOf(name).appendAll({ sessionId: SESSION, messages: talk(0, 8) });
  const [run] = await rest(stubOf(name));
  return { plan, calls: calls.length, outcome: run?.outcome };
}

test.for(FORGETTING)("%s behind refused notes: they are repaired, and not asked for again (R3)", async (fault) => {
  const calm = await update(null);
  expect(calm).toMatchObject({ calls: 2, outcome: { kind: "noted" } });
  const { plan, calls, outcome } = await update(fault, placeOf(calm.plan, fault, "update "));
  expect(plan.fired).toBe(true);
  expect({ calls, outcome }).toEqual({ calls: calm.calls, outcome: calm.outcome });
});

test("whoever asks for a step once more gets another answer, where the last one was refused", async () => {
  let isWell = false;
  const repair = makeGate();
  const { agent, calls } = newAgent(async (prompt) => {
    if (isWell) return summaryOf(prompt, "what was done");
    if (prompt.problems.length > 0) await repair.pass();
    return "I cannot do that.";
  });
  const { id: runId } = await startRun(agent);
  await repair.reached();
  isWell = true;
  await agent.retryRunFrom({ runId, stepName: "summarize" });
  expect((await agent.waitForRun({ runId })).outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls).toHaveLength(3);
});
