/** A chat on Palimpsest. Its Workflow uses the same model as the chat. */
import { Agent, callable, routeAgentRequest } from "agents";
import { convertToModelMessages, streamText } from "ai";
import { CompactionWorkflow as Base, Session, withCompaction, type SummaryModel } from "palimpsest";
import { createWorkersAI } from "workers-ai-provider";

const MODEL = "@cf/zai-org/glm-4.7-flash";

interface Env extends Cloudflare.Env {
  readonly AI: Ai;
}

export class CompactionWorkflow extends Base {
  protected override model(): SummaryModel {
    const { AI: binding } = this.env as Env;
    return { model: createWorkersAI({ binding })(MODEL), windowTokens: 131_072 };
  }
}

export class ChatAgent extends withCompaction(Agent<Env>) {
  readonly model = createWorkersAI({ binding: this.env.AI })(MODEL);
  readonly session = Session.create(this).compactAfter(60_000);

  @callable()
  async say(text: string): Promise<string> {
    await this.session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    const { messages } = await this.session.getView();
    const answer = await streamText({ model: this.model, messages: await convertToModelMessages(messages) }).text;
    await this.session.appendMessage({
      id: crypto.randomUUID(),
      role: "assistant",
      parts: [{ type: "text", text: answer }],
    });
    return answer;
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
