/**
 * The line of durable steps of each kind of run. A room with runs of its own adds their line when the Worker starts, so a Workflow knows
 * it in whatever isolate it runs.
 */
import type { WorkflowStep } from "cloudflare:workers";
import { PalimpsestError } from "../errors.ts";
import type { RunRecord } from "../memory/runs/runs.ts";
import type { ChosenModel } from "../model/chosen.ts";
import { compact } from "./compaction.ts";
import type { CompactionPort, FollowUp, RunEnded } from "./port.ts";

export type Line = (step: WorkflowStep, model: ChosenModel, port: CompactionPort) => Promise<RunEnded>;

const LINES = new Map<RunRecord["kind"], Line>([
  ["compaction", compact],
  // Its commit makes the switch.
  ["split", compact],
]);

/** Call where an agent is declared. A second call replaces the first. */
export function addLine(kind: RunRecord["kind"], line: Line): void {
  LINES.set(kind, line);
}

/** How a room's steps after the end of a run reach the agent and the models of the Workflow. */
export interface After {
  readonly port: CompactionPort;
  /** The Workflow's model of a name, or the one of the run. Throws where there is none. */
  readonly choose: (name: string | null) => Promise<ChosenModel>;
}

type AfterLine = (step: WorkflowStep, followUps: readonly FollowUp[], by: After) => Promise<void>;

let afterLine: AfterLine | null = null;

/** Call where an agent is declared. A second call replaces the first. */
export function addAfterLine(line: AfterLine): void {
  afterLine = line;
}

/** The steps after the end of a run. The run has its outcome, so a fault here is not one of the run. */
export async function followUp(step: WorkflowStep, { followUps = [] }: RunEnded, by: After): Promise<void> {
  if (followUps.length > 0) await afterLine?.(step, followUps, by);
}

/** Throws `not_configured` for a kind of run whose room is in no agent of this Worker. */
export function lineOf(kind: RunRecord["kind"]): Line {
  const line = LINES.get(kind);
  if (line !== undefined) return line;
  throw new PalimpsestError(
    "not_configured",
    `This Worker has no steps for a run of kind "${kind}". Add the room that has them where the agent is declared.`,
  );
}
