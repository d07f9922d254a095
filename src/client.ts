/**
 * Types of an agent's open calls, and its events, for a client. Runs anywhere, also in a browser.
 */
import type { Calls } from "./agent/calls.ts";
import type { CompactionClient, DEFAULT_CLIENTS } from "./agent/clients.ts";
import type { CompactionSurface } from "./agent/compacting-agent.ts";
import type { Rooms } from "./agent/extension.ts";
import { RUN_EVENT, type RunEvent } from "./agent/events.ts";

export { explainCall } from "./explain-call.ts";
export type { Clients, CompactionClient } from "./agent/clients.ts";
export { RUN_EVENT, type RunEvent } from "./agent/events.ts";

/**
 * An agent's type for its clients, which has its own methods and the calls that its list opens. Use it with the SDK's typed clients, as in
 * `new AgentClient<ClientOf<ChatAgent, typeof ChatAgent.clients>>(…)`, or `ClientOf<ChatAgent>` without a list. The third parameter names
 * the agent's rooms.
 */
export type ClientOf<
  Agent,
  List extends "all" | "none" | readonly string[] = typeof DEFAULT_CLIENTS,
  R extends Rooms = readonly [],
> = Omit<Agent, keyof Calls<R> | keyof CompactionSurface<R>> & CompactionClient<List, R>;

/** Returns the run event in a connection's message, or null for any other message. */
export function readRunEvent(data: unknown): RunEvent | null {
  if (typeof data !== "string" || !data.includes(RUN_EVENT)) return null;
  try {
    const message = JSON.parse(data) as { readonly type?: unknown } | null;
    return message?.type === RUN_EVENT ? (message as RunEvent) : null;
  } catch {
    return null;
  }
}
