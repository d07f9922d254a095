/** Think with tools: nothing changes but the base class. The model sees a compacted view, the person goes on seeing everything. */
import { Think, type ThinkSession } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import type { LanguageModel } from "ai";
import { CompactionWorkflow as Base, type ModelRequest, type SummaryModel } from "palimpsest";
import { withCompaction } from "palimpsest/think";
import { createWorkersAI } from "workers-ai-provider";
import { offlineModel } from "./offline-model.ts";
import { tools } from "./tools.ts";

interface Env extends Cloudflare.Env {
  /** Without it, chat and summaries are offline. */
  readonly AI?: Ai;
}

const MODEL = "@cf/zai-org/glm-4.7-flash";
const WINDOW_TOKENS = 131_072;

export class Chat extends withCompaction(Think)<Env> {
  override getModel(): LanguageModel {
    return chatModel(this.env);
  }

  override getTools() {
    return tools;
  }

  override configureSession(session: ThinkSession) {
    return session.compactAfter(8_000);
  }
}

export class CompactionWorkflow extends Base {
  protected override async model(request: ModelRequest): Promise<SummaryModel> {
    const { AI: binding } = this.env as Env;
    if (binding === undefined) return super.model(request);
    return { model: createWorkersAI({ binding })(MODEL), windowTokens: WINDOW_TOKENS };
  }
}

function chatModel({ AI: binding }: Env): LanguageModel {
  return binding === undefined ? offlineModel() : createWorkersAI({ binding })(MODEL);
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
