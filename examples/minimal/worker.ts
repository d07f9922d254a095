import { routeAgentRequest } from "agents";
import { CompactingAgent, CompactionWorkflow, Session } from "palimpsest";

export { CompactionWorkflow };

export class ChatAgent extends CompactingAgent {
  session = Session.create(this).compactAfter(60_000);

  async say(id: string, text: string): Promise<number> {
    await this.session.appendMessage({ id, role: "user", parts: [{ type: "text", text }] });
    const view = await this.session.getView(); // what a model is sent: fits, and every tool call has its result
    return view.tokens;
  }
}

export default {
  fetch: async (request: Request, env: Cloudflare.Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
