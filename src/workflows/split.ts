/**
 * One split of a session, as a straight line of durable steps: a compaction, and the switch.
 *
 *     (the line of compaction.ts) ─▶ switch to the child
 *
 * The switch is one transaction of the agent, and it ends the run: at every crash point exactly one of the two sessions
 * takes messages. Whatever ends the run before it (an edit under the plan, a cancel, a deleted session) leaves no child.
 */
import type { WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import type { Outcome } from "../memory/runs/runs.ts";
import { compact, CompactionWorkflow, type CompactionParams } from "./compaction.ts";
import { markOf } from "./ladder.ts";
import { AGENT_CALL } from "./retries.ts";

export class SplitWorkflow extends CompactionWorkflow {
  override async run({ payload }: WorkflowEvent<CompactionParams>, step: WorkflowStep): Promise<Outcome> {
    const model = await this.models(payload, step);
    if ("outcome" in model) return model.outcome;
    const compacted = await compact(step, model, () => this.port(payload));
    if (compacted.kind === "ended") return compacted.outcome;
    const switched = await step.do("switch to the child", AGENT_CALL, (at) =>
      this.port(payload).switchToChild(markOf(at)),
    );
    return switched.outcome;
  }
}
