/** The bindings of the benchmark's Worker. */
import type { CompactionParams } from "../src/workflows/workflow.ts";
import type { EmptyParams } from "./objects/workflows.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      Ours: DurableObjectNamespace;
      Sdk020: DurableObjectNamespace;
      Sdk032: DurableObjectNamespace;
      HostedOurs: DurableObjectNamespace;
      HostedSdk020: DurableObjectNamespace;
      HostedSdk032: DurableObjectNamespace;
      Client: DurableObjectNamespace;
      COMPACTION_WORKFLOW: Workflow<CompactionParams>;
      EMPTY_WORKFLOW: Workflow<EmptyParams>;
    }
  }
}
