/**
 * `agents/sessions` as a {@link MessageSource}. The Agents SDK keeps the messages, and our index follows.
 *
 * The feed calls its listeners in the turn of its own write, one after the other. `parentId` of an append is the caller's argument, with
 * the meaning that the port gives it. A read of the path ends at 10,001 messages. A summary that the SDK stored itself is no message.
 */
import type { UIMessage } from "ai";
import type { SessionChangeEvent, SessionMessage, Sessions } from "agents/sessions";
import type { AgentCore } from "../agent/agent-core.ts";
import type { CompactionHost } from "../agent/sessions/session.ts";
import { PalimpsestError } from "../errors.ts";
import type { MessageSource, SourceEvent } from "./message-source.ts";

/** How the ids begin under which the SDK shows its own summaries. The value is not imported, because no code of the SDK is needed here. */
export const SDK_SUMMARY_PREFIX = "compaction_";

export interface SessionsSourceOptions {
  /** The host's name in advice. */
  readonly name: string;
  readonly sessionId: string;
  /** The messages that the host has in memory. */
  readonly live: () => readonly UIMessage[];
  /** Most messages that the host keeps. Undefined for all. */
  readonly keeps?: () => number | undefined;
  /** Converts a message to the form that the host hands out. */
  readonly read?: (message: UIMessage) => UIMessage;
  /** Called after an update. Whether the host only moved content elsewhere, and nobody changed the text. */
  readonly rewrites?: (message: UIMessage) => boolean;
}

/** The core of an agent that a function was given, as in `call`. Throws `invalid_options` for any other agent. */
export function coreOf(agent: CompactionHost, call: string): AgentCore {
  const core = (agent as Partial<CompactionHost> | null | undefined)?.palimpsest;
  if (core !== undefined) return core;
  const [name] = call.split("(");
  throw new PalimpsestError(
    "invalid_options",
    `${name} takes an agent made with withCompaction(Agent) of palimpsest, as in ${call}.`,
  );
}

/** The part of `Sessions` that a source needs. */
export type Feed = Pick<Sessions, "session" | "subscribe">;

/** The changes of one session that is mirrored by nobody else. `hear` is called in the turn of the SDK's own write, before the source. */
export function mirrorOf(session: ReturnType<Sessions["session"]>, hear?: (event: SessionChangeEvent) => void): Feed {
  return {
    session: () => session,
    subscribe: (listener) =>
      session.mirror({
        get: () => [],
        set: () => undefined,
        intercept: (event) => {
          void listener(event);
          hear?.(event);
          return true;
        },
      }),
  };
}

export function sessionsSource(sessions: Feed, options: SessionsSourceOptions): MessageSource {
  const { name, sessionId, live, keeps = () => undefined, read = (message) => message } = options;
  const { rewrites = () => false } = options;
  const session = sessions.session(sessionId);
  const messageOf = (message: SessionMessage): UIMessage => read(message as unknown as UIMessage);
  return {
    name,
    live: () => live().filter(({ id }) => !id.startsWith(SDK_SUMMARY_PREFIX)),
    prunes: () => keeps() !== undefined,
    subscribe: (listener) => {
      const host = { messageOf, keeps, rewrites };
      sessions.subscribe((event) => {
        if (event.sessionId !== sessionId) return;
        const change = eventOf(event, host);
        if (change !== null) listener(change);
      });
    },
    leafId: async () => (await session.getLatestLeaf())?.id ?? null,
    path: async () => (await session.getHistoryRowStats()).map(({ id }) => id),
    get: async (id) => {
      const message = await session.getMessage(id);
      return message === null ? null : messageOf(message);
    },
  };
}

interface Telling {
  readonly messageOf: (message: SessionMessage) => UIMessage;
  readonly keeps: () => number | undefined;
  readonly rewrites: (message: UIMessage) => boolean;
}

function eventOf(event: SessionChangeEvent, { messageOf, keeps, rewrites }: Telling): SourceEvent | null {
  switch (event.type) {
    case "append":
      if (!event.inserted) return null;
      return { kind: "append", message: messageOf(event.message), parentId: event.parentId };
    case "update": {
      const message = messageOf(event.message);
      return { kind: rewrites(message) ? "rewrite" : "update", message };
    }
    case "delete": {
      // The host's memory may hold fewer messages than it keeps, so the index counts.
      const most = keeps();
      return { kind: "delete", ids: event.messageIds, retention: most === undefined ? null : (left) => left === most };
    }
    case "clear":
      return { kind: "clear" };
    case "compact":
    case "compaction":
      // A summary of the SDK's own changes no message.
      return null;
    case "import":
    default:
      // A later SDK may report other events. The path then shows what changed.
      return { kind: "changed" };
  }
}
