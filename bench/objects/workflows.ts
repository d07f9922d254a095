/** Workflows with as many steps that do nothing, as a baseline for the time of a compaction. */
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import pMap from "p-map";

export interface EmptyParams {
  readonly steps: number;
  /** An agent that every step calls once. Null for none. */
  readonly agent: string | null;
  /** Steps at the same time. Default 1. */
  readonly atOnce?: number;
}

interface Pinged {
  ping(): Promise<void>;
}

export class EmptyWorkflow extends WorkflowEntrypoint<Cloudflare.Env, EmptyParams> {
  override async run({ payload }: WorkflowEvent<EmptyParams>, step: WorkflowStep): Promise<void> {
    const { agent, steps, atOnce = 1 } = payload;
    const stub = agent === null ? null : (this.env.Ours.getByName(agent) as unknown as Pinged);
    const numbers = Array.from({ length: steps }, (_, index) => index);
    await pMap(numbers, async (index) => step.do(`step ${index}`, async () => stub?.ping()), { concurrency: atOnce });
  }
}
