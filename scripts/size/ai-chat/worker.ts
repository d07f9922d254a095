/** AIChatAgent with compaction, as docs/ai-chat.md shows it. */
import { AIChatAgent } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { isStepCount, streamText } from "ai";
import { compactAfter, withCompaction } from "palimpsest/ai-chat";
import { createWorkersAI } from "workers-ai-provider";

export { CompactionWorkflow } from "palimpsest";

interface Env extends Cloudflare.Env {
  readonly AI: Ai;
}

export class Chat extends withCompaction(AIChatAgent)<Env> {
  override compaction = compactAfter(60_000);

  override async onChatMessage() {
    const model = createWorkersAI({ binding: this.env.AI })("@cf/zai-org/glm-4.7-flash");
    const turn = await this.compacted({ tools: {} });
    return streamText({ model, ...turn, stopWhen: isStepCount(8) }).toUIMessageStreamResponse();
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
