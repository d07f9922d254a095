/** A conversation in `agents/sessions`: the SDK keeps messages and summaries, and nobody waits for a summary. */
import { Agent, callable, routeAgentRequest } from "agents";
import { Sessions } from "agents/sessions";
import { CompactionWorkflow, withCompaction } from "palimpsest";
import { durable } from "palimpsest/sessions";

export { CompactionWorkflow };

export class Chat extends withCompaction(Agent) {
  readonly store = new Sessions();

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.lifecycle.use(this.store);
    const session = this.store.session();
    session.onCompaction(durable(this, session)).compactAfter(20_000);
  }

  /** Answers with how many messages a model would be sent now, and how many of them are summaries. */
  @callable()
  async say(text: string): Promise<{ sent: number; summaries: number }> {
    const session = this.store.session();
    await session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    const messages = await session.getHistory(); // pass them to your model
    return { sent: messages.length, summaries: (await session.getCompactions()).length };
  }
}

export default {
  fetch: async (request: Request, env: Cloudflare.Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
