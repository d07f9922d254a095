/**
 * Compaction for any agent class: `withCompaction(Base)`, and `CompactingAgent`, which is that of the SDK's Agent.
 *
 * Job: give a {@link Core} to an agent, and the methods of the table of calls. The port for workflows is reachable by binding
 * only, never by a client.
 */
import { Agent, getCurrentAgent } from "agents";
import { CALL_NAMES, runCall, type CallContext, type CallMethods, type CallName } from "./calls.ts";
import { DEFAULT_CLIENTS, Doors, hangDoors, type Clients } from "./clients.ts";
import { Core } from "./core.ts";
import { mustKeepNoMessages } from "./known-hosts.ts";
import { agentPlatform, lacksWorkflow } from "./platform.ts";
import { SessionManager } from "./session-manager.ts";
import { callPort, RunPort } from "./runs/port.ts";
import type { PortMethod } from "../workflows/port.ts";
import { Session } from "./session.ts";
import { checkFields } from "../known-fields.ts";

export interface WithCompactionOptions {
  /** What connected clients may call. Default: `["watch"]`. */
  readonly clients?: Clients;
}

/**
 * What an agent has with compaction. Its calls are for callers from outside, and see their caller as one: the agent's own
 * code uses {@link Session} and {@link SessionManager}.
 */
export interface CompactionSurface extends CallMethods {
  readonly palimpsest: Core;
  /** Override to configure sessions that no other code names: `session.compactAfter(60_000)`. Called once per wake-up and session. */
  configureSession(session: Session): void;
  /** For workflows: all that one run may do to this agent. */
  compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown>;
  /** Called by the watchdog's alarm while runs are live. */
  watchCompactions(): Promise<void>;
}

/** Any agent class, as far as a mixin needs to know it. */
type AgentClass = typeof Agent<Cloudflare.Env>;

function mix(Base: AgentClass, clientsOf: (agent: object) => Clients): AgentClass {
  // Callable methods of the base class under the name of a call: ours stands there now, and is asked for by name.
  const shadowed = new Set((Object.create(Base.prototype) as Agent).getCallableMethods().keys());
  class Compacting extends Base {
    readonly palimpsest: Core;
    readonly #doors: Doors;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      this.#doors = new Doors(clientsOf(this));
      hangDoors(this, this.#doors, shadowed);
      const configure = (sessionId: string): void => {
        const session = Session.create(this).forSession(sessionId);
        this.configureSession(session);
        session.apply();
      };
      const platform = agentPlatform(this, { ctx, env, clientsRead: this.#doors.grants("read") });
      this.palimpsest = new Core(ctx.storage, platform, configure);
      // Once the subclass's fields are there too: they may name sessions.
      ctx.waitUntil(Promise.resolve().then(() => this.#wake(env)));
    }

    async #wake(env: Cloudflare.Env): Promise<void> {
      // What the default session is configured for tells whether the missing Workflow is needed at all.
      if (lacksWorkflow(env)) this.#tryOut("");
      await this.palimpsest.dispatcher.wake();
    }

    /** Has a session configured. What it throws is thrown again at the session's first use. */
    #tryOut(sessionId: string): void {
      try {
        this.palimpsest.settings.get(sessionId);
      } catch {
        // Nobody asked for it yet.
      }
    }

    configureSession(_session: Session): void {}

    async compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown> {
      return callPort(new RunPort(this.palimpsest, runId), method, args);
    }

    async watchCompactions(): Promise<void> {
      await this.palimpsest.dispatcher.watch();
    }

    /** Not public over RPC: private names are no methods of a stub. */
    async #call(name: CallName, input: unknown): Promise<unknown> {
      return runCall(name, this.#context(), input);
    }

    #context(): CallContext {
      const { connection } = getCurrentAgent();
      return {
        core: this.palimpsest,
        manager: SessionManager.create(this),
        session: (sessionId) => Session.create(this).forSession(sessionId),
        may: (grant) => connection === undefined || this.#doors.grants(grant),
      };
    }

    static {
      for (const name of CALL_NAMES) {
        const value = async function (this: Compacting, input?: unknown): Promise<unknown> {
          return this.#call(name, input);
        };
        Object.defineProperty(this.prototype, name, { value, writable: true, configurable: true });
      }
    }
  }
  return Compacting;
}

/**
 * Adds durable compaction to an agent class: `class Chat extends withCompaction(MyAgent<Env>) {}`. Throws `invalid_options`,
 * also for a class that keeps its messages itself: AIChatAgent has a `withCompaction` in `palimpsest/ai-chat`.
 */
export function withCompaction<Env extends Cloudflare.Env, Base extends Agent<Env>>(
  base: new (ctx: DurableObjectState, env: Env) => Base,
  options: WithCompactionOptions = {},
): new (ctx: DurableObjectState, env: Env) => Base & CompactionSurface {
  mustKeepNoMessages(base);
  checkFields("withCompaction", options, { clients: true });
  const { clients = DEFAULT_CLIENTS } = options;
  void new Doors(clients);
  return mix(base as unknown as AgentClass, () => clients) as unknown as new (
    ctx: DurableObjectState,
    env: Env,
  ) => Base & CompactionSurface;
}

/** What {@link CompactingAgent} is, as a class. */
export interface CompactingAgentClass {
  /** What connected clients may call. Default: `["watch"]`. */
  readonly clients: Clients;
  new <Env extends Cloudflare.Env = Cloudflare.Env, State = unknown>(
    ctx: DurableObjectState,
    env: Env,
  ): Agent<Env, State> & CompactionSurface;
}

const Mixed = mix(Agent, (agent) => (agent.constructor as unknown as CompactingAgentClass).clients);

/** The Agents SDK's Agent with durable compaction: `class Chat extends CompactingAgent<Env> {}`. */
export const CompactingAgent: CompactingAgentClass = Object.assign(Mixed, {
  clients: DEFAULT_CLIENTS,
}) as unknown as CompactingAgentClass;
