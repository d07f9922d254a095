/**
 * A person's yes, as durable steps: ask, wait for a word or the end of the time, ask again.
 *
 * Boundary: decides nothing. What was decided, and what silence means, stands in the agent's ledger; the event that ends a
 * wait says only that it is worth asking. So an event that was lost, sent twice or invented changes nothing, and a wait
 * survives whatever a step does.
 */
import type { WorkflowStep } from "cloudflare:workers";
import { LEAST_APPROVAL_MS } from "../limits.ts";
import { markOf } from "./ladder.ts";
import { APPROVAL_EVENT, type Approved, type CompactionPort, type RunEnded } from "./port.ts";
import { AGENT_CALL } from "./retries.ts";

/** The draft that was approved: this one, or one that a person made of it. */
export async function waitForApproval(
  step: WorkflowStep,
  port: () => CompactionPort,
  key: string,
): Promise<Approved | RunEnded> {
  for (let round = 1; ; round++) {
    const asked = await step.do(`ask for approval · round ${round}`, AGENT_CALL, (at) =>
      port().askApproval(markOf(at), key),
    );
    if (asked.kind !== "waiting") return asked;
    const timeout = Math.max(asked.timeoutMs, LEAST_APPROVAL_MS);
    try {
      await step.waitForEvent(`wait for approval · round ${round}`, { type: APPROVAL_EVENT, timeout });
    } catch (error) {
      // Anything else is the engine's: it is being paused, or stopped.
      if (!isTimeout(error)) throw error;
    }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout|timed out/i.test(`${error.name} ${error.message}`);
}
