/**
 * The wait of a run for a person. The room that asks one adds its steps when the Worker starts, as a room adds the steps of its own runs
 * (run-steps.ts).
 */
import type { WorkflowStep } from "cloudflare:workers";
import { PalimpsestError } from "../errors.ts";
import { markOf } from "./ladder.ts";
import { AGENT_CALL } from "./retries.ts";
import type { Approved, CompactionPort, RunEnded } from "./port.ts";

type Wait = (step: WorkflowStep, port: CompactionPort, key: string) => Promise<Approved | RunEnded>;

let wait: Wait | null = null;

/** Call where an agent is declared. A second call replaces the first. */
export function addApproval(added: Wait): void {
  wait = added;
}

/**
 * Returns the approved draft, which is this one or a text that a person made of it. A Worker without the room has no wait. There the agent
 * says what becomes of a draft that still waits. Throws `not_configured` where only the agent has the room.
 */
export const waitForApproval: Wait = async (step, port, key) => {
  if (wait !== null) return wait(step, port, key);
  const asked = await step.do("go on without the room", AGENT_CALL, (at) => port.askApproval(markOf(at), key));
  if (asked.kind !== "waiting") return asked;
  throw new PalimpsestError(
    "not_configured",
    "This Worker asks nobody for approval. Add the room where the agent is declared: withCompaction(Base, { rooms: [approval()] }).",
  );
};
