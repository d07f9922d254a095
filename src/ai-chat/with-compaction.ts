/**
 * `palimpsest/ai-chat`, durable compaction for AIChatAgent.
 *
 * The model sees the view at every turn and at every step of a tool loop. `this.messages`, and the messages that a client loads, stay
 * whole. The base class is imported as a type only.
 */
import type { AIChatAgent } from "@cloudflare/ai-chat";
import type { Agent } from "agents";
import { convertToModelMessages } from "ai";
import type { Calls, MethodsOfCalls } from "../agent/calls.ts";
import type { Clients, DEFAULT_CLIENTS, Opened } from "../agent/clients.ts";
import { checkDeclared, type Declared, type WithCompactionOptions } from "../agent/compacting-agent.ts";
import type { Rooms } from "../agent/extension.ts";
import { AI_CHAT, assertHost } from "../agent/known-hosts.ts";
import { callPort, RunPort } from "../agent/runs/run-port.ts";
import {
  hostCompaction,
  type CompactionSettings,
  type HostCompaction,
  type HostedCore,
} from "../sessions-source/hosted-agent.ts";
import { compactedTurn, type CompactedOptions, type CompactedTurn } from "../sessions-source/turn.ts";

export { compactAfter, type CompactionSettings, type HostCompaction } from "../sessions-source/hosted-agent.ts";
export type { CompactedOptions, CompactedTurn } from "../sessions-source/turn.ts";

/** The members that compaction adds to an AIChatAgent, beside the calls that were opened to clients. */
export interface ChatCompaction<R extends Rooms = readonly [], Open = unknown> extends HostCompaction<R, Open> {
  /** Values to spread into `streamText`, which are the view, and a `prepareStep` that sends the current view at each step. */
  compacted(options?: CompactedOptions): Promise<CompactedTurn>;
}

type Compacted<R extends Rooms, Open> = ChatCompaction<R, Open> &
  Pick<MethodsOfCalls<Calls<R>>, Opened<Calls<R>, Open>>;

type ChatClass = typeof AIChatAgent<Cloudflare.Env>;

/** AIChatAgent with compaction, before its type parameters are given. */
export interface CompactingChatClass<R extends Rooms, Open> {
  new <Env extends Cloudflare.Env = Cloudflare.Env, State = unknown>(
    ctx: DurableObjectState,
    env: Env,
  ): AIChatAgent<Env, State> & Compacted<R, Open>;
}

/** `class Chat extends withCompaction(AIChatAgent)<Env> {}`. Throws `invalid_options`. */
export function withCompaction<
  const R extends Rooms = readonly [],
  const Open extends Clients<R> = typeof DEFAULT_CLIENTS,
>(base: typeof AIChatAgent, options?: WithCompactionOptions<R, Open>): CompactingChatClass<R, Open>;
/** The same for a subclass of AIChatAgent. */
export function withCompaction<
  Env extends Cloudflare.Env,
  Base extends Agent<Env>,
  const R extends Rooms = readonly [],
  const Open extends Clients<R> = typeof DEFAULT_CLIENTS,
>(
  base: new (ctx: DurableObjectState, env: Env) => Base,
  options?: WithCompactionOptions<R, Open>,
): new (ctx: DurableObjectState, env: Env) => Base & Compacted<R, Open>;
export function withCompaction(base: unknown, options: WithCompactionOptions<Rooms, Clients> = {}): unknown {
  assertHost(base, AI_CHAT, "@cloudflare/ai-chat");
  return mix(base as ChatClass, checkDeclared(options));
}

function mix(Base: ChatClass, { clients, rooms }: Declared) {
  return class Compacting extends Base implements ChatCompaction<Rooms> {
    readonly palimpsest: HostedCore<Rooms>;
    declare compaction?: CompactionSettings | undefined;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      const { sessions } = this;
      this.palimpsest = hostCompaction(this, {
        ctx,
        env,
        clients,
        rooms,
        sessions,
        source: { name: "AIChatAgent", live: () => this.messages, keeps: () => this.maxPersistedMessages },
        settings: () => this.compaction,
      });
    }

    async compacted(options: CompactedOptions = {}): Promise<CompactedTurn> {
      const { tools, convertDataPart } = options;
      return compactedTurn(this.palimpsest.session(), options, {
        fallback: async () =>
          convertToModelMessages(this.messages, {
            ...(tools !== undefined && { tools }),
            ...(convertDataPart !== undefined && { convertDataPart }),
          }),
      });
    }

    async compactionStep(runId: string, method: string, args: readonly unknown[]): Promise<unknown> {
      return callPort(new RunPort(this.palimpsest, runId), method, args);
    }

    async watchCompactions(): Promise<void> {
      await this.palimpsest.dispatcher.watch();
    }
  };
}
