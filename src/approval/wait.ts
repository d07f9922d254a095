/**
 * Waits for a person's approval in durable steps. Each round asks the ledger, then waits for an event or a timeout.
 *
 * This room decides nothing, because the agent's ledger holds the decision and the meaning of silence. The event that ends a wait only says
 * that asking again is worthwhile. A lost, doubled or invented event therefore changes nothing.
 */
import type { WorkflowStep } from "cloudflare:workers";
import { LEAST_APPROVAL_MS } from "../limits.ts";
import { markOf } from "../workflows/ladder.ts";
import { APPROVAL_EVENT, type Approved, type CompactionPort, type RunEnded } from "../workflows/port.ts";
import { AGENT_CALL } from "../workflows/retries.ts";

/** Returns the approved draft, which is this one or a text that a person made of it. */
export async function waitForApproval(
  step: WorkflowStep,
  port: CompactionPort,
  key: string,
): Promise<Approved | RunEnded> {
  for (let round = 1; ; round++) {
    const asked = await step.do(`ask for approval · round ${round}`, AGENT_CALL, (at) =>
      port.askApproval(markOf(at), key),
    );
    if (asked.kind !== "waiting") return asked;
    const timeout = Math.max(asked.timeoutMs, LEAST_APPROVAL_MS);
    try {
      await step.waitForEvent(`wait for approval · round ${round}`, { type: APPROVAL_EVENT, timeout });
    } catch (error) {
      // The engine throws any other error when it pauses or stops the instance.
      if (!isTimeout(error)) throw error;
    }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout|timed out/i.test(`${error.name} ${error.message}`);
}
