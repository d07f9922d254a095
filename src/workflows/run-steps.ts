/**
 * The durable steps of each kind of run. A room with runs of its own adds their steps when the Worker starts, so a Workflow knows
 * them in whatever isolate it runs.
 */
import type { WorkflowStep } from "cloudflare:workers";
import { PalimpsestError } from "../errors.ts";
import type { RunRecord } from "../memory/runs/runs.ts";
import type { ChosenModel } from "../model/chosen.ts";
import { compact } from "./compaction.ts";
import type { CompactionPort, RunEnded } from "./port.ts";

export type RunSteps = (step: WorkflowStep, model: ChosenModel, port: CompactionPort) => Promise<RunEnded>;

const RUN_STEPS = new Map<RunRecord["kind"], RunSteps>([
  ["compaction", compact],
  // Its commit opens the child.
  ["split", compact],
]);

/** Call where an agent is declared. A second call replaces the first. */
export function addRunSteps(kind: RunRecord["kind"], steps: RunSteps): void {
  RUN_STEPS.set(kind, steps);
}

/** Throws `not_configured` for a kind of run whose room is in no agent of this Worker. */
export function runStepsOf(kind: RunRecord["kind"]): RunSteps {
  const steps = RUN_STEPS.get(kind);
  if (steps !== undefined) return steps;
  throw new PalimpsestError(
    "not_configured",
    `This Worker has no steps for a run of kind "${kind}". Add its room where the agent is declared.`,
  );
}
