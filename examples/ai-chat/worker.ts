/** A chat with tools: the model sees a compacted view, the person goes on seeing everything. */
import { AIChatAgent } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { isStepCount, streamText, type LanguageModel } from "ai";
import { CompactionWorkflow as Base, type ModelRequest, type SummaryModel } from "palimpsest";
import { compactAfter, withCompaction } from "palimpsest/ai-chat";
import { createWorkersAI } from "workers-ai-provider";
import { offlineModel } from "./offline-model.ts";
import { tools } from "./tools.ts";

interface Env extends Cloudflare.Env {
  /** Without it, chat and summaries are offline. */
  readonly AI?: Ai;
}

const MODEL = "@cf/zai-org/glm-4.7-flash";
const WINDOW_TOKENS = 131_072;

/** What the page may call beside what is open anyway: to show summaries and originals, and to undo. */
export const CLIENTS = ["watch", "getCompactions", "expand", "rollback"] as const;

export class Chat extends withCompaction(AIChatAgent, { clients: CLIENTS })<Env> {
  override compaction = compactAfter(4_000);

  override async onChatMessage(_onFinish: unknown, options?: { abortSignal?: AbortSignal | undefined }) {
    const turn = await this.compacted({ tools });
    const abort = options?.abortSignal === undefined ? {} : { abortSignal: options.abortSignal };
    return streamText({
      model: chatModel(this.env),
      tools,
      ...turn,
      ...abort,
      stopWhen: isStepCount(8),
    }).toUIMessageStreamResponse();
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
