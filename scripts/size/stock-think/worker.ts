/** The same chat on Think alone. */
import { Think, type ThinkSession } from "@cloudflare/think";
import { routeAgentRequest } from "agents";

export class Chat extends Think {
  override getModel() {
    return "@cf/zai-org/glm-4.7-flash";
  }

  override configureSession(session: ThinkSession) {
    return session.compactAfter(60_000);
  }
}

export default {
  fetch: async (request: Request, env: Cloudflare.Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
