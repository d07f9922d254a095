/**
 * Compaction for an agent whose base class keeps its messages in `agents/sessions`: what AIChatAgent and Think have in common.
 *
 * Job: put a core beside the base class and hear its sessions. Boundary: knows no base class by value; adds few names, because
 * the base class has many.
 */
import { getCurrentAgent, type Agent } from "agents";
import type { Sessions } from "agents/sessions";
import { runCall, tableOf, type CallContext } from "../agent/calls.ts";
import { addOpenCalls, Doors, type Clients } from "../agent/clients.ts";
import { AgentCore, type CoreWith } from "../agent/agent-core.ts";
import type { CallTable, Rooms } from "../agent/extension.ts";
import { HostedSession } from "../agent/hosted-session.ts";
import { agentPlatform, lacksWorkflow, type Watched } from "../agent/platform.ts";
import { Session, type SessionOf } from "../agent/session.ts";
import { SessionManager } from "../agent/session-manager.ts";
import type { CompactAfterOptions } from "../agent/settings.ts";
import { sessionsSource, type SessionsSourceOptions } from "./source.ts";

/** What a session is told: `compactAfter(60_000)`, or a function of the session. */
export type CompactionSettings = (session: Session) => unknown;

/** Compacts a conversation when its view is estimated at more than `thresholdTokens`. Throws `invalid_options` when it is used. */
export function compactAfter(thresholdTokens: number, options: CompactAfterOptions = {}): CompactionSettings {
  return (session) => session.compactAfter(thresholdTokens, options);
}

/** The core of an agent whose base class keeps the messages. */
export type HostedCore<R extends Rooms = readonly []> = CoreWith<R> & {
  /** A session as the agent's own code uses it; the conversation without argument. */
  session(sessionId?: string): SessionOf<R>;
};

class CoreOfHost extends AgentCore {
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
  /** Read when the session is first used. */
  readonly settings: () => CompactionSettings | undefined;
}

/** Call it right behind `super()`: a subclass may put something else in the place of `sessions`. */
export function hostCompaction(agent: Watched, options: HostedAgentOptions): HostedCore<Rooms> {
  const { ctx, env, clients, rooms, sessions, source, settings } = options;
  const table = tableOf(rooms);
  const doors = new Doors(clients, table);
  const platform = agentPlatform(agent, { ctx, env, clientsRead: doors.grants("read") });
  const configure = (sessionId: string): void => {
    const session = core.session(sessionId);
    settings()?.(session);
    session.apply();
  };
  const core: CoreOfHost = new CoreOfHost(ctx.storage, platform, { configure, rooms });
  const hosted = new HostedSession(core, "", sessionsSource(sessions, { ...source, sessionId: "" }));
  core.hosted.set("", hosted);
  addOpenCalls(agent, table, {
    doors,
    run(name, input) {
      const { palimpsest } = this as { palimpsest: CoreOfHost };
      return runCall(table[name] as CallTable[string], contextOf(palimpsest, doors), input);
    },
  });
  takeInOnStart(agent, hosted);
  ctx.waitUntil(Promise.resolve().then(() => wake(core, env)));
  return core;
}

function contextOf(core: CoreOfHost, doors: Doors): CallContext {
  const { connection } = getCurrentAgent();
  return {
    core,
    manager: SessionManager.create({ palimpsest: core }),
    session: (sessionId) => core.session(sessionId),
    may: (grant) => connection === undefined || doors.grants(grant),
  };
}

/** Once the base class has started, and before it answers anybody: so no change comes before the index is equal. */
function takeInOnStart(agent: Agent, hosted: HostedSession): void {
  const start = agent.onStart.bind(agent);
  agent.onStart = async (props) => {
    await start(props);
    try {
      await hosted.start();
    } catch (error) {
      // The conversation goes on; the next use tries again, and says why when it fails.
      console.warn(`[palimpsest] The conversation was not taken in: ${String(error)}`);
    }
  };
}

async function wake(core: AgentCore, env: Cloudflare.Env): Promise<void> {
  if (lacksWorkflow(env)) {
    try {
      core.settings.get("");
    } catch {
      // Thrown again at the session's first use.
    }
  }
  await core.dispatcher.wake();
}
