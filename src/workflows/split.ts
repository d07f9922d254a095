/**
 * One split of a session as a straight line of durable steps. It is a compaction with a switch at its end.
 *
 *     (the line of compaction.ts) ─▶ switch to the child
 *
 * The switch is one transaction of the agent, and it ends the run. At every crash point exactly one of the two sessions takes messages. A
 * run that ends before it (an edit under the plan, a cancel, a deleted session) leaves no child.
 */
import type { WorkflowStep } from "cloudflare:workers";
import type { ChosenModel } from "../model/chosen.ts";
import { compact } from "./compaction.ts";
import { markOf } from "./ladder.ts";
import type { CompactionPort, RunEnded } from "./port.ts";
import { AGENT_CALL } from "./retries.ts";

export async function split(step: WorkflowStep, model: ChosenModel, port: CompactionPort): Promise<RunEnded> {
  const compacted = await compact(step, model, port);
  if (compacted.kind === "ended") return compacted;
  return step.do("switch to the child", AGENT_CALL, (at) => port.switchToChild(markOf(at)));
}
