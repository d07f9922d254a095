/** Think with compaction, as docs/think.md shows it. */
import { Think, type ThinkSession } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import { withCompaction } from "palimpsest/think";

export { CompactionWorkflow } from "palimpsest";

export class Chat extends withCompaction(Think)<Cloudflare.Env> {
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
