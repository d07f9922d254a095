/**
 * The tickets of one agent that opened a WebSocket already, each until its minute is over.
 *
 * Safe because the list stands in the agent's storage and is read and written in one synchronous stretch: of two
 * connections with one ticket, also across a restart of the agent, one is let in. What is written is durable before the
 * platform lets the answer out. It costs one row for each connection by ticket, and holds ids, never a ticket.
 */
import { MAX_SPENT_TICKETS } from "../limits.ts";
import type { Visit } from "./visit.ts";

const KEY = "palimpsest:spent-tickets";

/** Epoch ms at which each ticket is over, by id. */
type Spent = Readonly<Record<string, number>>;

/** `over`: spent before, or expired. `crowded`: so many were spent in their minute that no more are remembered. */
export type Spending = "spent" | "over" | "crowded";

export function spendTicket(kv: SyncKvStorage, { id, expiresAt }: NonNullable<Visit["ticket"]>, now: number): Spending {
  const stored = kv.get<Spent>(KEY) ?? {};
  // The agent's own clock forgets an id, so the agent's own clock must say that its ticket is over.
  if (now >= expiresAt || Object.hasOwn(stored, id)) return "over";
  const standing = Object.entries(stored).filter(([, until]) => until > now);
  if (standing.length >= MAX_SPENT_TICKETS) return "crowded";
  kv.put<Spent>(KEY, Object.fromEntries([...standing, [id, expiresAt]]));
  return "spent";
}
