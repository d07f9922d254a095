import type { CompactionParams } from "../src/workflows/compaction.ts";
import type { PalimpsestAgent, StorageProbe } from "./worker.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      PalimpsestAgent: DurableObjectNamespace<PalimpsestAgent>;
      StorageProbe: DurableObjectNamespace<StorageProbe>;
      SKILLS: R2Bucket;
      COMPACTION_WORKFLOW: Workflow<CompactionParams>;
    }
  }
}
