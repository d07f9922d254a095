/** The same chat on AIChatAgent alone. */
import { AIChatAgent } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { convertToModelMessages, isStepCount, streamText } from "ai";
import { createWorkersAI } from "workers-ai-provider";

interface Env extends Cloudflare.Env {
  readonly AI: Ai;
}

export class Chat extends AIChatAgent<Env> {
  override async onChatMessage() {
    const model = createWorkersAI({ binding: this.env.AI })("@cf/zai-org/glm-4.7-flash");
    const messages = await convertToModelMessages(this.messages);
    return streamText({ model, messages, stopWhen: isStepCount(8) }).toUIMessageStreamResponse();
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
