/** Helpers of the tests of when a run starts. They are a policy, a sound summariser, and a wait for the end. */
import { Session } from "../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import type { BuilderCall, CompactAfterOptions, SessionSettings } from "../../src/agent/settings.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { Policy } from "../../src/steps/plan/policy.ts";
import { newAgent } from "../agents.ts";
import { summaryOf, type Script } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

export const sound: Script = (prompt) => summaryOf(prompt, "done");

/** Waits for every run of the session, follow-up runs included. Oldest first. */
export async function settle(agent: PalimpsestAgent, sessionId = ""): Promise<readonly RunRecord[]> {
  for (;;) {
    const runs = await agent.runs({ sessionId, limit: 500 });
    const live = runs.find((run) => run.outcome === null);
    if (live === undefined) return runs.toReversed();
    await agent.waitForRun({ runId: live.id });
  }
}

export function kinds(runs: readonly RunRecord[]): readonly unknown[] {
  return runs.map(({ outcome }) => outcome?.kind);
}

/** Sets numbers of the session's policy that follow from its options, where a test needs odd ones. Call it after `compactAfter`. */
export function withNumbers<S extends object>(session: S, numbers: Partial<Policy>): S {
  const settings = (now: SessionSettings): SessionSettings => ({
    ...now,
    policy: now.policy === null ? null : { ...now.policy, ...numbers },
  });
  (session as unknown as { collect(call: BuilderCall): void }).collect({ settings });
  return session;
}

/** An agent whose default session has these options and a threshold of 2,000 tokens. */
export async function withPolicy(script: Script | null, options: CompactAfterOptions, threshold = 2_000, numbers = {}) {
  const made = newAgent(script);
  await runInDurableObject(made.stub, async (instance: PalimpsestAgent) => {
    const tail = Math.floor(threshold / 3);
    withNumbers(Session.create(instance).compactAfter(threshold, { chunkTokens: 1_500, tail, ...options }), numbers);
  });
  return made;
}
