/** The Worker under test: what is deployed, with a scripted summariser, and Durable Objects that only tests need. */
import { DurableObject } from "cloudflare:workers";
import { routeAgentRequest } from "agents";
import type { AgentWorkflowEvent, AgentWorkflowStep } from "agents/workflows";
import { CompactingAgent } from "../src/agent/with-compaction.ts";
import { Session } from "../src/agent/session.ts";
import type { OverlayRecord } from "../src/memory/overlays.ts";
import type { Outcome } from "../src/memory/runs.ts";
import type { ChosenModel } from "../src/model/choose.ts";
import { CompactionWorkflow as RealCompactionWorkflow, type CompactionParams } from "../src/workflows/compaction.ts";
import { scriptedModel } from "./scripted-model.ts";

/** A bare Durable Object whose storage a test of src/memory borrows with `runInDurableObject`. */
export class StorageProbe extends DurableObject {}

export class PalimpsestAgent extends CompactingAgent {
  /** Small numbers, so that a test's conversation is short. A session id that ends in `!n` has threshold n. */
  override configureSession(session: Session): void {
    const threshold = /!(\d+)$/.exec(session.id)?.[1];
    session.compactAfter(threshold === undefined ? 2_000 : Number(threshold), { chunkTokens: 1_500 });
  }

  /** Lays a summary of the caller's own, as an agent's own code may at any time. */
  async cover({ summary, fromId, toId }: { summary: string; fromId: string; toId: string }): Promise<OverlayRecord> {
    return Session.create(this).addCompaction(summary, fromId, toId);
  }
}

export class CompactionWorkflow extends RealCompactionWorkflow {
  #agentName = "";

  protected override model(): ChosenModel {
    return { model: scriptedModel(this.#agentName), name: "scripted", windowTokens: 32_000 };
  }

  override async run(event: AgentWorkflowEvent<CompactionParams>, step: AgentWorkflowStep): Promise<Outcome> {
    this.#agentName = event.payload.agent.name;
    return super.run(event, step);
  }
}

export default {
  fetch: async (request, env) => (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
} satisfies ExportedHandler<Cloudflare.Env>;
