/**
 * Compaction for any agent class, as `withCompaction(Base)`.
 *
 * Gives a {@link Core} to an agent, and the methods of the table of calls. The port for workflows is reachable by binding only, never by a
 * client.
 */
import type { Agent } from "agents";
import { runCall, tableOf, type Calls, type MethodsOfCalls } from "./calls.ts";
import {
  contextOf,
  DEFAULT_CLIENTS,
  ClientAccess,
  registerCalls,
  mayAtHome,
  refuseClosedCalls,
  type Clients,
} from "./clients.ts";
import { AgentCore, type CoreWith } from "./agent-core.ts";
import type { CallTable, Rooms } from "./extension.ts";
import { assertKeepsNoMessages } from "./known-hosts.ts";
import { agentPlatform } from "./platform.ts";
import { callPort, RunPort } from "./runs/run-port.ts";
import { Session, type SessionOf } from "./sessions/session.ts";
import { checkFields } from "../known-fields.ts";

/** Options of {@link withCompaction}. */
export interface WithCompactionOptions<R extends Rooms = readonly [], Open extends Clients<R> = Clients<R>> {
  /** Calls for connected clients, `["watch"]` by default. */
  readonly clients?: Open;
  /** Optional rooms, none by default. Their methods of sessions and their calls exist only with them. */
  readonly rooms?: R;
}

/**
 * The members that compaction adds to an agent. The calls are for callers from outside, and treat their caller as one. The agent's own code
 * uses {@link Session} and {@link SessionManager}.
 */
export type CompactionSurface<R extends Rooms = readonly [], Open = unknown> = MethodsOfCalls<Calls<R>> &
  CompactionMembers<R, Open>;

/** The members that are no calls. */
export interface CompactionMembers<R extends Rooms, Open = unknown> {
  readonly palimpsest: CoreWith<R, Open>;
  /**
   * Override to configure sessions that no other code names, as in `session.compactAfter(60_000)`. Called once per wake-up and session.
   * @example
   * class Chat extends withCompaction(Agent<Env>) {
   *   override configureSession(session: Session) {
   *     session.compactAfter(60_000);
   *   }
   * }
   */
  configureSession(session: SessionOf<R>): void;
  /** For workflows. It covers everything that one run may do to this agent. */
  compactionStep(runId: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Called by the watchdog's alarm while runs are live. */
  watchCompactions(): Promise<void>;
}

/** What an agent is declared with. */
export interface Declared {
  readonly rooms: Rooms;
  readonly clients: Clients;
}

/** Throws `invalid_options`. */
export function checkDeclared<R extends Rooms, Open extends Clients<R>>(
  options: WithCompactionOptions<R, Open>,
): Declared {
  checkFields("withCompaction", options, { clients: true, rooms: true });
  const { clients = DEFAULT_CLIENTS, rooms = [] } = options;
  void new ClientAccess(clients, tableOf(rooms));
  return { clients, rooms };
}

/** Any agent class, as far as a mixin needs to know it. */
type AgentClass = typeof Agent<Cloudflare.Env>;

function mix(Base: AgentClass, { rooms, clients }: Declared): AgentClass {
  const table = tableOf(rooms);
  // All callable methods of the base class. Where a call of ours has the same name, ours replaces it, and only `clients` opens it.
  const shadowed = new Set((Object.create(Base.prototype) as Agent).getCallableMethods().keys());
  class Compacting extends Base {
    /** A subclass may have a list of its own, which then counts. */
    static readonly clients: Clients = clients;

    readonly palimpsest: AgentCore;
    readonly #access: ClientAccess;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      this.#access = new ClientAccess((this.constructor as typeof Compacting).clients, table);
      registerCalls(this, table, { access: this.#access, shadowed });
      const run = (name: string, input: unknown): Promise<unknown> =>
        this.#look(table[name] as CallTable[string], input);
      refuseClosedCalls(this, table, { access: this.#access, run });
      const configure = (sessionId: string): void => {
        const session = Session.create(this).forSession(sessionId);
        this.configureSession(session);
        session.apply();
      };
      const platform = agentPlatform(this, { ctx, env, clientsRead: this.#access.grants("read") });
      this.palimpsest = new AgentCore(ctx.storage, platform, { configure, rooms });
      // After the subclass's fields exist too, because they may name sessions.
      ctx.waitUntil(Promise.resolve().then(() => this.palimpsest.wake()));
    }

    configureSession(_session: Session): void {}

    async compactionStep(runId: string, method: string, args: readonly unknown[]): Promise<unknown> {
      return callPort(new RunPort(this.palimpsest, runId), method, args);
    }

    async watchCompactions(): Promise<void> {
      await this.palimpsest.dispatcher.watch();
    }

    /** Not public over RPC, because private names are no methods of a stub. */
    async #call(entry: CallTable[string], input: unknown): Promise<unknown> {
      this.palimpsest.uses.count();
      return runCall(entry, contextOf(this.palimpsest, this.#access), input);
    }

    async #look(entry: CallTable[string], input: unknown): Promise<unknown> {
      this.palimpsest.uses.count();
      return runCall(entry, { ...contextOf(this.palimpsest, this.#access), may: mayAtHome(this.#access) }, input);
    }

    static {
      for (const [name, entry] of Object.entries(table)) {
        const value = async function (this: Compacting, input?: unknown): Promise<unknown> {
          return this.#call(entry, input);
        };
        Object.defineProperty(this.prototype, name, { value, writable: true, configurable: true });
      }
    }
  }
  return Compacting;
}

/** An agent class with compaction. */
export interface CompactingClass<Env extends Cloudflare.Env, Base extends Agent<Env>, R extends Rooms, Open> {
  /** Calls for connected clients. A subclass may have a list of its own, which then counts. */
  readonly clients: Clients<R>;
  new (ctx: DurableObjectState, env: Env): Base & CompactionSurface<R, Open>;
}

/**
 * Adds durable compaction to an agent class, as in `class Chat extends withCompaction(Agent<Env>, { rooms: [context()] }) {}`. Throws
 * `invalid_options`, also for a class that keeps its messages itself. AIChatAgent has a `withCompaction` in `palimpsest/ai-chat`.
 * @example class Chat extends withCompaction(Agent<Env>, { rooms: [recall()] }) {}
 */
export function withCompaction<
  Env extends Cloudflare.Env,
  Base extends Agent<Env>,
  const R extends Rooms = readonly [],
  const Open extends Clients<R> = typeof DEFAULT_CLIENTS,
>(
  base: new (ctx: DurableObjectState, env: Env) => Base,
  options: WithCompactionOptions<R, Open> = {},
): CompactingClass<Env, Base, R, Open> {
  assertKeepsNoMessages(base);
  return mix(base as unknown as AgentClass, checkDeclared(options)) as unknown as CompactingClass<Env, Base, R, Open>;
}
