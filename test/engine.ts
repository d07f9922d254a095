/** The Workflows engine as a test sees it from outside. */
import { env } from "cloudflare:workers";

const ENDED: ReadonlySet<InstanceStatus["status"]> = new Set(["complete", "errored", "terminated"]);

/** An instance's status once it has ended. The ledger has a run's outcome a moment before that. */
export async function settled(runId: string): Promise<InstanceStatus> {
  for (;;) {
    const status = await (await env.COMPACTION_WORKFLOW.get(runId)).status();
    if (ENDED.has(status.status)) return status;
    await scheduler.wait(1);
  }
}
