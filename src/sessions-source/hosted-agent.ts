/**
 * Compaction for an agent whose base class keeps its messages in `agents/sessions`. AIChatAgent and Think share this code.
 *
 * Puts a core beside the base class and listens to its sessions. Imports no base class by value. Adds few names, because the base class has
 * many.
 */
import type { Agent } from "agents";
import type { Sessions } from "agents/sessions";
import { runCall, tableOf } from "../agent/calls.ts";
import { addOpenCalls, contextOf, ClientAccess, mayAtHome, refuseClosedCalls, type Clients } from "../agent/clients.ts";
import { AgentCore, type CoreWith } from "../agent/agent-core.ts";
import type { CallTable, Rooms } from "../agent/extension.ts";
import { HostedSession } from "./hosted-session.ts";
import { agentPlatform, type Watched } from "../agent/platform.ts";
import { PalimpsestError } from "../errors.ts";
import { Session, type SessionOf } from "../agent/sessions/session.ts";
import type { CompactAfterOptions, Threshold } from "../agent/settings.ts";
import type { EndedRun } from "../memory/runs/runs.ts";
import { sessionsSource, type SessionsSourceOptions } from "./source.ts";

/** A function that configures a session, such as `compactAfter(60_000)`. */
export type CompactionSettings = (session: Session) => unknown;

/**
 * Sets when a conversation is compacted, above so many tokens or by its carrying cost (`auto`). Throws `invalid_options` when it is used.
 */
export function compactAfter(threshold: Threshold = "auto", options: CompactAfterOptions = {}): CompactionSettings {
  return (session) => session.compactAfter(threshold, options);
}

/** The core of an agent whose base class keeps the messages. */
export type HostedCore<R extends Rooms = readonly [], Open = unknown> = CoreWith<R, Open> & {
  /** A session as the agent's own code uses it. Without an argument it is the conversation. */
  session(sessionId?: string): SessionOf<R>;
  /** Configures the conversation again, for a base class whose own settings changed. */
  configureAgain(): void;
};

/** The members that compaction adds to an agent whose base class keeps the messages, beside the calls that were opened to clients. */
export interface HostCompaction<R extends Rooms = readonly [], Open = unknown> {
  readonly palimpsest: HostedCore<R, Open>;
  /** When the conversation is compacted, as in `compaction = compactAfter(60_000)`. */
  compaction?: ((session: SessionOf<R>) => unknown) | undefined;
  /** For workflows. It covers everything that one run may do to this agent. */
  compactionStep(runId: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Called by the watchdog's alarm while runs are live. */
  watchCompactions(): Promise<void>;
}

class CoreOfHost extends AgentCore {
  configureAgain: () => void = () => undefined;

  session(sessionId = ""): Session {
    return Session.create({ palimpsest: this }).forSession(sessionId);
  }
}

export interface HostedAgentOptions {
  readonly ctx: DurableObjectState;
  readonly env: Cloudflare.Env;
  readonly clients: Clients;
  readonly rooms: Rooms;
  readonly sessions: Sessions;
  readonly source: Omit<SessionsSourceOptions, "sessionId">;
  /** Read when the session is first used, and when the base class received new settings. */
  readonly settings: () => CompactionSettings | undefined;
  /** Called before the base class starts, when the fields of every subclass exist. */
  readonly beforeStart?: () => void;
  /** Called after a run changed the view. */
  readonly viewChanged?: () => Promise<void>;
}

/** Call it right behind `super()`, because a subclass may replace `sessions` later. */
export function hostCompaction(agent: Watched, options: HostedAgentOptions): HostedCore<Rooms> {
  const { ctx, env, clients, rooms, sessions, source, settings } = options;
  // Versions that did not yet keep their messages there.
  if ((sessions as Sessions | undefined) === undefined) {
    throw new PalimpsestError(
      "not_configured",
      `This ${source.name} keeps its messages elsewhere than in agents/sessions. Install a version that palimpsest names among its peer dependencies.`,
    );
  }
  if ("clients" in agent.constructor) {
    throw new PalimpsestError(
      "invalid_options",
      `A static member \`clients\` opens and closes nothing here. Give the list where the agent is declared: withCompaction(${source.name}, { clients: [...] }).`,
    );
  }
  const table = tableOf(rooms);
  const access = new ClientAccess(clients, table);
  const platform = agentPlatform(agent, { ctx, env, clientsRead: access.grants("read") });
  const { viewChanged } = options;
  const configure = (sessionId: string): void => {
    const session = core.session(sessionId);
    settings()?.(session);
    session.apply();
  };
  const core = new CoreOfHost(ctx.storage, platform, { configure, rooms });
  const hosted = new HostedSession(core, "", sessionsSource(sessions, { ...source, sessionId: "" }));
  core.hosted.set("", hosted);
  core.onRunEnded((run) => {
    if (viewChanged !== undefined && changesView(run)) platform.background(viewChanged());
  });
  core.configureAgain = () => {
    try {
      configure("");
    } catch (error) {
      // The base class must start all the same. The error is thrown again at the session's first use.
      console.warn(`[palimpsest] The conversation is not compacted: ${String(error)}`);
    }
  };
  addOpenCalls(agent, table, {
    access,
    run(name, input) {
      const { palimpsest } = this as { palimpsest: CoreOfHost };
      return runCall(table[name] as CallTable[string], contextOf(palimpsest, access), input);
    },
  });
  refuseClosedCalls(agent, table, {
    access,
    run: (name, input) =>
      runCall(table[name] as CallTable[string], { ...contextOf(core, access), may: mayAtHome(access) }, input),
  });
  takeInOnStart(agent, hosted, options.beforeStart);
  ctx.waitUntil(Promise.resolve().then(() => core.wake()));
  return core;
}

function changesView({ outcome }: EndedRun): boolean {
  return outcome.kind === "applied";
}

/** Runs once the base class has started and before it answers anybody, so that no change comes before the index is equal. */
function takeInOnStart(agent: Agent, hosted: HostedSession, beforeStart?: () => void): void {
  const start = agent.onStart.bind(agent);
  agent.onStart = async (props) => {
    beforeStart?.();
    await start(props);
    try {
      await hosted.start();
    } catch (error) {
      // The conversation goes on. The next use tries again, and throws the reason of a failure.
      console.warn(`[palimpsest] The conversation was not taken in: ${String(error)}`);
    }
  };
}
