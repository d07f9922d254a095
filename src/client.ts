/**
 * Types of an agent's open calls, and its events, for a client. Runs anywhere, also in a browser.
 */
import type { Calls } from "./agent/calls.ts";
import type { CompactionClient, DEFAULT_CLIENTS } from "./agent/clients.ts";
import type { CompactionSurface } from "./agent/compacting-agent.ts";
import type { Rooms } from "./agent/extension.ts";
import type { CompactionHost } from "./agent/sessions/session.ts";
import { RUN_EVENT, type RunEvent } from "./agent/events.ts";

export { explainCall } from "./explain-call.ts";
export type { Clients, CompactionClient } from "./agent/clients.ts";
export { RUN_EVENT, type RunEvent } from "./agent/events.ts";

type List = "all" | "none" | readonly string[];

// The list that an agent was declared with.
type ListOf<Agent> = Agent extends { readonly palimpsest: { readonly open?: infer Open extends List } }
  ? Open
  : typeof DEFAULT_CLIENTS;

// The rooms that an agent was declared with.
type RoomsOf<Agent> = Agent extends CompactionHost<infer R> ? R : readonly [];

/**
 * An agent's type for its clients, which has its own methods and the calls that its declaration opens, those of its rooms among them. Use
 * it with the SDK's typed clients, as in `new AgentClient<ClientOf<ChatAgent>>(…)`. For a class with a static member `clients` give the
 * list too, as in `ClientOf<ChatAgent, typeof ChatAgent.clients>`.
 */
export type ClientOf<Agent, Open extends List = ListOf<Agent>, R extends Rooms = RoomsOf<Agent>> = Omit<
  Agent,
  keyof Calls<R> | keyof CompactionSurface<R>
> &
  CompactionClient<Open, R>;

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
