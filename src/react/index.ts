/** `palimpsest/react`, a conversation's compactions for a component beside `useAgent`. */
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { CompactionFollower, type AgentConnection, type CompactionState } from "./follow.ts";

export type { AgentConnection, CompactionState } from "./follow.ts";

export interface UseCompactionOptions {
  /** The agent's default session by default, which is the conversation of an AIChatAgent. */
  readonly sessionId?: string;
  /** Asks for the view's size whenever this value changes, such as the number of shown messages. */
  readonly refreshOn?: unknown;
}

/** The state and the actions. */
export type UseCompaction = CompactionState & Pick<CompactionFollower, "refresh" | "compact" | "cancel" | "undo">;

/**
 * Follows the compactions of a session, with the size of its view, its live runs, and the end of the last one. Everything is loaded again
 * when the connection reopens.
 */
export function useCompaction(
  agent: AgentConnection,
  { sessionId = "", refreshOn }: UseCompactionOptions = {},
): UseCompaction {
  const follower = useMemo(() => new CompactionFollower(agent, sessionId), [agent, sessionId]);
  const state = useSyncExternalStore(follower.subscribe, follower.state, follower.state);
  useEffect(() => {
    if (refreshOn !== undefined && agent.readyState === WebSocket.OPEN) void follower.refresh();
  }, [agent, follower, refreshOn]);
  return useMemo(() => {
    const { refresh, compact, cancel, undo } = follower;
    return { ...state, refresh, compact, cancel, undo };
  }, [follower, state]);
}
