/** The deployable Worker. It has one agent class with its workflows, reached at `/agents/palimpsest-agent/<name>`. */
import { env as bindings } from "cloudflare:workers";
import { Agent } from "agents";
import { withCompaction } from "./agent/compacting-agent.ts";
import type { WatchdogEnv } from "./agent/platform.ts";
import type { SessionOf } from "./agent/sessions/session.ts";
import type { PriceList } from "./costs/sums.ts";
import { refuse } from "./doors/answers.ts";
import { createWorker, type WorkerEnv } from "./doors/create-worker.ts";
import { guardConnections, type GuardEnv } from "./doors/guard.ts";
import { PalimpsestError } from "./errors.ts";
import { WORKER_THRESHOLD_TOKENS } from "./limits.ts";
import type { ModelEnv } from "./providers/models.ts";
import { secretRules } from "./redact/secret-rules.ts";
import { allRooms, type AllRooms } from "./rooms.ts";

export { CompactionWorkflow } from "./providers/models.ts";

interface Settings extends ModelEnv, WatchdogEnv, WorkerEnv, GuardEnv {
  /** Tokens of a view beyond which it is compacted. Without it the cost of carrying a view decides, up to a ceiling. */
  readonly PALIMPSEST_THRESHOLD?: string;
  /** What a million tokens cost, by model, as JSON. `{"*":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75}}` */
  readonly PALIMPSEST_PRICES?: string;
  /** Most source tokens per call of the summariser. */
  readonly PALIMPSEST_CHUNK_TOKENS?: string;
  /** When set, notes are kept in the background and become the summary when a compaction is due. */
  readonly PALIMPSEST_NOTES?: string;
  /** When set, likely secrets are blanked before the summariser sees them. */
  readonly PALIMPSEST_REDACT?: string;
  /** When set, each summary waits a day for a person. `apply` or `discard` is the meaning of silence. */
  readonly PALIMPSEST_APPROVAL?: "apply" | "discard";
}

// `wrangler types` may know a binding of the settings as one that is always there.
type Env = Cloudflare.Env & Settings;

// Named, so that declarations need not write the type of its props, which differs between versions of `agents`.
class PlainAgent extends Agent<Env> {}

/** A caller that the door admits may do everything. */
export class PalimpsestAgent extends withCompaction(PlainAgent, {
  clients: "all",
  rooms: allRooms(readPrices(bindings as Pick<Settings, "PALIMPSEST_PRICES">)),
}) {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    guardConnections(this, ctx, env);
  }

  /** All calls go over a WebSocket. */
  override async onRequest(): Promise<Response> {
    return refuse(
      426,
      "invalid_input",
      "Connect with a WebSocket: this agent answers its calls there, and no other request.",
    );
  }

  override configureSession(session: SessionOf<AllRooms>): void {
    const {
      PALIMPSEST_THRESHOLD: threshold,
      PALIMPSEST_CHUNK_TOKENS: chunk,
      PALIMPSEST_APPROVAL: onTimeout,
      PALIMPSEST_REDACT: redact,
      PALIMPSEST_NOTES: notes,
    } = this.env;
    const limits = chunk === undefined ? {} : { chunkTokens: Number(chunk) };
    if (threshold === undefined) session.compactAfter("auto", { ceiling: WORKER_THRESHOLD_TOKENS, ...limits });
    else session.compactAfter(Number(threshold), limits);
    if (notes !== undefined && notes !== "") session.keepNotes();
    if (redact !== undefined && redact !== "") session.redactSecrets(secretRules());
    if (onTimeout !== undefined) session.requireApproval({ onTimeout });
  }
}

/** Throws `invalid_options`, so that a Worker with wrong prices does not start. */
function readPrices({ PALIMPSEST_PRICES: json }: { readonly PALIMPSEST_PRICES?: string }): PriceList | undefined {
  if (json === undefined || json.trim() === "") return undefined;
  try {
    return JSON.parse(json) as PriceList;
  } catch {
    throw new PalimpsestError(
      "invalid_options",
      'PALIMPSEST_PRICES is no JSON: give prices by model, such as {"*":{"input":3,"output":15}}.',
    );
  }
}

export default createWorker<Env>();
