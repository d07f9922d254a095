/** The deployable Worker: one agent class with its workflow, reached at `/agents/palimpsest-agent/<name>`. */
import { routeAgentRequest } from "agents";
import { CompactingAgent } from "./agent/with-compaction.ts";
import type { WatchdogEnv } from "./agent/platform.ts";
import type { Session } from "./agent/session.ts";
import type { ModelEnv } from "./model/choose.ts";

export { CompactionWorkflow } from "./workflows/compaction.ts";
export { SplitWorkflow } from "./workflows/split.ts";

interface Env extends Cloudflare.Env, ModelEnv, WatchdogEnv {
  /** Tokens of a view beyond which it is compacted. */
  readonly PALIMPSEST_THRESHOLD?: string;
  /** Most source tokens per call of the summariser. */
  readonly PALIMPSEST_CHUNK_TOKENS?: string;
}

const DEFAULT_THRESHOLD = 60_000;

export class PalimpsestAgent extends CompactingAgent<Env> {
  override configureSession(session: Session): void {
    const { PALIMPSEST_THRESHOLD: threshold, PALIMPSEST_CHUNK_TOKENS: chunk } = this.env;
    session.compactAfter(
      Number(threshold ?? DEFAULT_THRESHOLD),
      chunk === undefined ? {} : { chunkTokens: Number(chunk) },
    );
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  },
} satisfies ExportedHandler<Env>;
