/** The bindings of the Worker under test, and what the test projects provide. */
import type * as worker from "./worker.ts";
import type { CompactionParams } from "../src/workflows/workflow.ts";
import type { ChatAgent } from "../examples/minimal/worker.ts";
import type { Chat, Family, Harnessed, Keeper, RoomyChat, StockChat } from "./ai-chat/worker.ts";
import type { Lineage, StockThink, Thinker } from "./think/worker.ts";
import type {
  BareAgent,
  BuiltAgent,
  CachedAgent,
  DefaultAgent,
  MeaningAgent,
  PalimpsestAgent,
  PlainAgent,
  StorageProbe,
  UnboundAgent,
} from "./worker.ts";

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      mainModule: typeof worker;
    }
    interface Env {
      PalimpsestAgent: DurableObjectNamespace<PalimpsestAgent>;
      BuiltAgent: DurableObjectNamespace<BuiltAgent>;
      UnboundAgent: DurableObjectNamespace<UnboundAgent>;
      BareAgent: DurableObjectNamespace<BareAgent>;
      DefaultAgent: DurableObjectNamespace<DefaultAgent>;
      MeaningAgent: DurableObjectNamespace<MeaningAgent>;
      CachedAgent: DurableObjectNamespace<CachedAgent>;
      PlainAgent: DurableObjectNamespace<PlainAgent>;
      StorageProbe: DurableObjectNamespace<StorageProbe>;
      ChatAgent: DurableObjectNamespace<ChatAgent>;
      Chat: DurableObjectNamespace<Chat>;
      RoomyChat: DurableObjectNamespace<RoomyChat>;
      StockChat: DurableObjectNamespace<StockChat>;
      Family: DurableObjectNamespace<Family>;
      Keeper: DurableObjectNamespace<Keeper>;
      Harnessed: DurableObjectNamespace<Harnessed>;
      Thinker: DurableObjectNamespace<Thinker>;
      Lineage: DurableObjectNamespace<Lineage>;
      StockThink: DurableObjectNamespace<StockThink>;
      SKILLS: R2Bucket;
      COMPACTION_WORKFLOW: Workflow<CompactionParams>;
    }
  }
}

declare module "vitest" {
  interface ProvidedContext {
    everything: boolean;
    seed: number;
  }
}
