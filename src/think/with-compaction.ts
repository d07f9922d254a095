/**
 * `palimpsest/think`, durable compaction for Think.
 *
 * Only the base class changes. The settings of Think's session are redirected to ours, the model sees the view at every turn and at every
 * step of a tool loop, and the transcript stays whole. Think is imported as a type only.
 */
import type { Think } from "@cloudflare/think";
import type { Agent } from "agents";
import type { Calls, MethodsOfCalls } from "../agent/calls.ts";
import type { Clients, DEFAULT_CLIENTS, Opened } from "../agent/clients.ts";
import { checkDeclared, type Declared, type WithCompactionOptions } from "../agent/compacting-agent.ts";
import type { Rooms } from "../agent/extension.ts";
import { assertHost, THINK } from "../agent/known-hosts.ts";
import { callPort, RunPort } from "../agent/runs/run-port.ts";
import { ownFunction } from "../own-function/room.ts";
import {
  hostCompaction,
  type CompactionSettings,
  type HostCompaction,
  type HostedCore,
} from "../sessions-source/hosted-agent.ts";
import type { ConvertDataPart } from "../turn/data-parts.ts";
import { isEviction } from "./internals.ts";
import { Recorded, type Session } from "./session.ts";
import { hookTurns } from "./turns.ts";

export { compactAfter, type CompactionSettings, type HostCompaction } from "../sessions-source/hosted-agent.ts";

export interface ThinkCompactionOptions<
  R extends Rooms = readonly [],
  Open extends Clients<R> = Clients<R>,
> extends WithCompactionOptions<R, Open> {
  /** What a model is sent of a part of type `data-…`, as `convertToModelMessages` takes it. Nothing by default. */
  readonly convertDataPart?: ConvertDataPart | undefined;
}

type Compacted<R extends Rooms, Open> = HostCompaction<R, Open> &
  Pick<MethodsOfCalls<Calls<R>>, Opened<Calls<R>, Open>>;

type ThinkClass = typeof Think<Cloudflare.Env>;

/** Think with compaction, before its type parameters are given. */
export interface CompactingThinkClass<R extends Rooms, Open> {
  // Older versions of `agents` want props with an index signature.
  new <Env extends Cloudflare.Env = Cloudflare.Env, State = unknown, Props extends object = object>(
    ctx: DurableObjectState,
    env: Env,
  ): Think<Env, State, Props & Record<string, unknown>> & Compacted<R, Open>;
}

/** `class Chat extends withCompaction(Think)<Env> {}`. Throws `invalid_options`. */
export function withCompaction<
  const R extends Rooms = readonly [],
  const Open extends Clients<R> = typeof DEFAULT_CLIENTS,
>(base: typeof Think, options?: ThinkCompactionOptions<R, Open>): CompactingThinkClass<R, Open>;
/** The same for a subclass of it. */
export function withCompaction<
  Env extends Cloudflare.Env,
  Base extends Agent<Env>,
  const R extends Rooms = readonly [],
  const Open extends Clients<R> = typeof DEFAULT_CLIENTS,
>(
  base: new (ctx: DurableObjectState, env: Env) => Base,
  options?: ThinkCompactionOptions<R, Open>,
): new (ctx: DurableObjectState, env: Env) => Base & Compacted<R, Open>;
export function withCompaction(base: unknown, options: ThinkCompactionOptions<Rooms, Clients> = {}): unknown {
  assertHost(base, THINK, "@cloudflare/think");
  const { convertDataPart, ...declared } = options;
  const { clients, rooms } = checkDeclared(declared);
  // Think's own sessions have onCompaction.
  return mix(base as ThinkClass, { clients, rooms: [ownFunction(), ...rooms], convertDataPart });
}

type Mixed = Declared & Pick<ThinkCompactionOptions, "convertDataPart">;

function mix(Base: ThinkClass, { clients, rooms, convertDataPart }: Mixed) {
  return class Compacting extends Base implements HostCompaction<Rooms> {
    readonly palimpsest: HostedCore<Rooms>;
    declare compaction?: CompactionSettings | undefined;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      const { sessions } = this;
      const recorded = new Recorded();
      this.palimpsest = hostCompaction(this, {
        ctx,
        env,
        clients,
        rooms,
        sessions,
        source: {
          name: "Think",
          live: () => this.messages,
          rewrites: (message) => isEviction(this, message),
        },
        settings: () => (session) => {
          recorded.tell(session as Session);
          this.compaction?.(session);
        },
        beforeStart: () => {
          this.#listen(recorded);
          hookTurns(this, {
            session: () => this.palimpsest.session(),
            reminder: () => this.#reminder(),
            convertDataPart,
          });
        },
        // As after a summary of Think's own, the prompt is rebuilt from the present context blocks.
        viewChanged: async () => void (await this.context.refreshSystemPrompt()),
      });
    }

    /** Wraps `configureSession`, as the class or a field of it defines it. Think calls it once, when it starts. */
    #listen(recorded: Recorded): void {
      const configureSession = this.configureSession.bind(this);
      this.configureSession = async (session) => {
        const configured = await configureSession(recorded.listen(session, () => this.palimpsest.session()));
        this.palimpsest.configureAgain();
        return configured;
      };
    }

    /** Older versions of Think have none. */
    async #reminder(): Promise<string | null> {
      const context: { reminder?: () => Promise<string | null> } = this.context;
      return (await context.reminder?.()) ?? null;
    }

    async compactionStep(runId: string, method: string, args: readonly unknown[]): Promise<unknown> {
      // The session's settings are known once Think has started.
      // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
      await this.__unsafe_ensureInitialized();
      return callPort(new RunPort(this.palimpsest, runId), method, args);
    }

    async watchCompactions(): Promise<void> {
      await this.palimpsest.dispatcher.watch();
    }
  };
}
