/** The same chat on the Agents SDK's own sessions. */
import { Agent, callable, routeAgentRequest, type AgentContext } from "agents";
import { createCompactFunction, Sessions } from "agents/sessions";
import { convertToModelMessages, generateText, streamText, type UIMessage } from "ai";
import { createWorkersAI } from "workers-ai-provider";

const MODEL = "@cf/zai-org/glm-4.7-flash";

interface Env extends Cloudflare.Env {
  readonly AI: Ai;
}

export class ChatAgent extends Agent<Env> {
  readonly model = createWorkersAI({ binding: this.env.AI })(MODEL);
  readonly sessions = new Sessions();
  readonly session = this.sessions
    .session()
    .onCompaction(
      createCompactFunction({
        summarize: async (prompt) => (await generateText({ model: this.model, prompt })).text,
      }),
    )
    .compactAfter(60_000);

  constructor(ctx: AgentContext, env: Env) {
    super(ctx, env);
    this.lifecycle.use(this.sessions);
  }

  @callable()
  async say(text: string): Promise<string> {
    await this.session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    const messages = (await this.session.getHistory()) as UIMessage[];
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
