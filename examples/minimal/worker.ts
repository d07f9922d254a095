import { Agent, callable, routeAgentRequest } from "agents";
import { CompactionWorkflow, Session, withCompaction } from "palimpsest";

export { CompactionWorkflow };

export class ChatAgent extends withCompaction(Agent) {
  session = Session.create(this).compactAfter(60_000);

  /** Answers with the tokens of the view: what a model would be sent now. */
  @callable()
  async say(text: string): Promise<number> {
    await this.session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    const { messages, tokens } = await this.session.getView(); // UIMessages: convertToModelMessages for your model
    console.log(`${messages.length} messages, some ${tokens} tokens`);
    return tokens;
  }
}

export default {
  fetch: async (request: Request, env: Cloudflare.Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
