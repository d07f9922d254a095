/** What a compaction's time is compared with: workflows with as many steps that do nothing. */
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";

export interface EmptyParams {
  readonly steps: number;
  /** An agent that every step calls once; null for none. */
  readonly agent: string | null;
}

interface Pinged {
  ping(): Promise<void>;
}

export class EmptyWorkflow extends WorkflowEntrypoint<Cloudflare.Env, EmptyParams> {
  override async run({ payload }: WorkflowEvent<EmptyParams>, step: WorkflowStep): Promise<void> {
    const { agent, steps } = payload;
    const stub = agent === null ? null : (this.env.Ours.getByName(agent) as unknown as Pinged);
    for (let index = 0; index < steps; index++) await step.do(`step ${index}`, async () => stub?.ping());
  }
}
