import { Agent, callable, routeAgentRequest } from "agents";
import { isStepCount, streamText, tool } from "ai";
import { CompactionWorkflow as Workflow, Session, withCompaction } from "palimpsest";
import { keepTurn } from "palimpsest/turn";
import { workersAi } from "palimpsest/workers-ai";
import { z } from "zod";

interface Env extends Cloudflare.Env {
  readonly AI: Ai;
}

const tools = {
  today: tool({
    description: "Today's date",
    inputSchema: z.object({}),
    execute: async () => new Date().toDateString(),
  }),
};

export class ChatAgent extends withCompaction(Agent<Env>) {
  model = workersAi(this.env.AI);
  session = Session.create(this).compactAfter(this.model); // by cost, within the model's window

  @callable()
  async say(text: string): Promise<string> {
    await this.session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    const replyId = crypto.randomUUID();
    await this.session.appendMessage({ id: replyId, role: "assistant", parts: [] });
    const turn = keepTurn(this.session, { replyId, tools });
    const asked = { model: this.model.model, tools, stopWhen: isStepCount(8) };
    const reply = streamText({ ...asked, ...(await turn.prepareStep()), ...turn });
    const said = await reply.text;
    turn.mustBeKept();
    return said;
  }
}

export class CompactionWorkflow extends Workflow {
  /** The same model summarises. */
  protected override model() {
    return workersAi((this.env as Env).AI);
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
