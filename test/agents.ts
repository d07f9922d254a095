/** Agents for tests. Each test has its own, with its own summariser. */
import { env } from "cloudflare:workers";
import { introspectWorkflow } from "cloudflare:test";
import { beforeAll } from "vitest";
import type { RunRecord } from "../src/memory/runs/runs.ts";
import { talk } from "./conversation.ts";
import { scriptModel, type Script } from "./scripted-model.ts";
import type { PalimpsestAgent } from "./worker.ts";

/** Enough messages to cross the threshold of a test's session (2,000 tokens) by a little. */
export const ENOUGH = 17;

/** Whether retries are without a delay. Files that share a Worker share its modules as well. */
let retriesAtOnce = false;

/** Removes the delay of retries in this Worker, so that a test that fails a step sees the next attempt at once. */
export function skipRetryDelays(): void {
  beforeAll(async () => {
    if (retriesAtOnce) return;
    retriesAtOnce = true;
    // Never disposed, because disposing aborts instances. An instance that is about to end would then never answer.
    const instances = await introspectWorkflow(env.COMPACTION_WORKFLOW);
    await instances.modifyAll((modifier) => modifier.disableRetryDelays());
  });
}

let agents = 0;

/** An agent of this test alone. Its stub has the type of the agent's class, whose methods are all async there as well. */
export function newAgent(script: Script | null = null) {
  const name = `agent-${agents++}`;
  const calls = scriptModel(name, script);
  return { name, calls, agent: stubOf(name), stub: env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(name)) };
}

/** A new stub for an agent, as a client gets one after a reset broke its old one. */
export function stubOf(name: string): PalimpsestAgent {
  return env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(name)) as unknown as PalimpsestAgent;
}

/** Appends enough in one batch to start a run. Returns the ledger row that the append wrote. */
export async function startRun(agent: PalimpsestAgent, sessionId = "", messages = ENOUGH): Promise<RunRecord> {
  await agent.appendAll({ sessionId, messages: talk(0, messages) });
  const [run] = await agent.runs({ sessionId });
  if (run === undefined) throw new Error("The append started no run.");
  return run;
}

/** The id of the overlay that a run brought into force. Empty when it brought none. */
export function overlayOf({ outcome }: RunRecord): string {
  return outcome?.kind === "applied" ? outcome.overlayId : "";
}

/**
 * The error message of a refused call. Empty when it was not refused. Awaits the call here, because a call's promise that is passed on
 * rejects twice.
 */
export async function refusalOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
