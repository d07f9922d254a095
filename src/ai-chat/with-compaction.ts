/**
 * `palimpsest/ai-chat`: durable compaction for AIChatAgent.
 *
 * The model sees the view at every turn and at every step of a tool loop; `this.messages`, and what a client loads, stay whole.
 * Boundary: the base class is a type here, and imported by nobody's value.
 */
import type { AIChatAgent } from "@cloudflare/ai-chat";
import type { Agent } from "agents";
import { tableOf, type CoreCalls, type MethodsOfCalls } from "../agent/calls.ts";
import { DEFAULT_CLIENTS, Doors, type Clients as AnyClients, type Opened } from "../agent/clients.ts";
import { AI_CHAT, mustBeHost } from "../agent/known-hosts.ts";
import { callPort, RunPort } from "../agent/runs/port.ts";
import type { PortMethod } from "../workflows/port.ts";
import { hostCompaction, type CompactionSettings, type HostedCore } from "../sessions-source/hosted-agent.ts";
import { compactedTurn, type CompactedOptions, type CompactedTurn } from "../sessions-source/turn.ts";

export { compactAfter, type CompactionSettings } from "../sessions-source/hosted-agent.ts";
export type { CompactedOptions, CompactedTurn } from "../sessions-source/turn.ts";

/** What an AIChatAgent has with compaction, beside the calls that were opened to clients. */
export interface ChatCompaction {
  readonly palimpsest: HostedCore;
  /** When the conversation is compacted: `compaction = compactAfter(60_000)`. Never without it. */
  compaction?: CompactionSettings | undefined;
  /** What to spread into `streamText`: the view, and a `prepareStep` that sends it as it is at each step. */
  compacted(options?: CompactedOptions): Promise<CompactedTurn>;
  /** For workflows: all that one run may do to this agent. */
  compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown>;
  /** Called by the watchdog's alarm while runs are live. */
  watchCompactions(): Promise<void>;
}

export interface ChatCompactionOptions<Open extends Clients = Clients> {
  /** What connected clients may call. Default: `["watch"]`. */
  readonly clients?: Open;
}

type Clients = AnyClients<readonly []>;

type Compacted<Open extends Clients> = ChatCompaction & Pick<MethodsOfCalls<CoreCalls>, Opened<CoreCalls, Open>>;

type ChatClass = typeof AIChatAgent<Cloudflare.Env>;

/** AIChatAgent with compaction, its type parameters still to be given. */
export interface CompactingChatClass<Open extends Clients> {
  new <Env extends Cloudflare.Env = Cloudflare.Env, State = unknown>(
    ctx: DurableObjectState,
    env: Env,
  ): AIChatAgent<Env, State> & Compacted<Open>;
}

/** `class Chat extends withCompaction(AIChatAgent)<Env> {}`. Throws `invalid_options`. */
export function withCompaction<const Open extends Clients = typeof DEFAULT_CLIENTS>(
  base: typeof AIChatAgent,
  options?: ChatCompactionOptions<Open>,
): CompactingChatClass<Open>;
/** The same for a subclass of it. */
export function withCompaction<
  Env extends Cloudflare.Env,
  Base extends Agent<Env>,
  const Open extends Clients = typeof DEFAULT_CLIENTS,
>(
  base: new (ctx: DurableObjectState, env: Env) => Base,
  options?: ChatCompactionOptions<Open>,
): new (ctx: DurableObjectState, env: Env) => Base & Compacted<Open>;
export function withCompaction(base: unknown, { clients = DEFAULT_CLIENTS }: ChatCompactionOptions = {}): unknown {
  mustBeHost(base, AI_CHAT, "@cloudflare/ai-chat");
  void new Doors(clients, tableOf([]));
  return mix(base as ChatClass, clients);
}

function mix(Base: ChatClass, clients: Clients) {
  return class Compacting extends Base implements ChatCompaction {
    readonly palimpsest: HostedCore;
    declare compaction?: CompactionSettings | undefined;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      const { sessions } = this;
      this.palimpsest = hostCompaction(this, {
        ctx,
        env,
        clients,
        sessions,
        source: { name: "AIChatAgent", live: () => this.messages, keeps: () => this.maxPersistedMessages },
        settings: () => this.compaction,
      });
    }

    async compacted(options: CompactedOptions = {}): Promise<CompactedTurn> {
      return compactedTurn(this.palimpsest.session(), options, () => this.messages);
    }

    async compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown> {
      return callPort(new RunPort(this.palimpsest, runId), method, args);
    }

    async watchCompactions(): Promise<void> {
      await this.palimpsest.dispatcher.watch();
    }
  };
}
