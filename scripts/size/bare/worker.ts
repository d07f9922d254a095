/** The Agents SDK and nothing else. */
import { Agent, routeAgentRequest } from "agents";

export class ChatAgent extends Agent {}

export default {
  fetch: async (request: Request, env: Cloudflare.Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
