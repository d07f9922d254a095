/**
 * The tickets that already opened a WebSocket of one agent, each kept until it expires.
 *
 * The list is in the agent's storage and is read and written synchronously. Of two connections with one ticket, also across a restart of
 * the agent, one is admitted. The write is durable before the platform sends the answer. Each connection by ticket costs one row, and the
 * row holds ids, never a ticket.
 */
import type { Visit } from "./visit.ts";

/** Most used tickets of one agent that are remembered in their minute, in one row. They allow thirty connections a second. */
export const MAX_SPENT_TICKETS = 2_000;

const KEY = "palimpsest:spent-tickets";

/** Epoch ms at which each ticket expires, by id. */
type Spent = Readonly<Record<string, number>>;

/** `over` means used before or expired. `crowded` means that too many tickets were used in their minute to remember another. */
export type Spending = "spent" | "over" | "crowded";

export function spendTicket(kv: SyncKvStorage, { id, expiresAt }: NonNullable<Visit["ticket"]>, now: number): Spending {
  const stored = kv.get<Spent>(KEY) ?? {};
  // The agent's own clock drops an id, so the same clock must decide that its ticket is over.
  if (now >= expiresAt || Object.hasOwn(stored, id)) return "over";
  const standing = Object.entries(stored).filter(([, until]) => until > now);
  if (standing.length >= MAX_SPENT_TICKETS) return "crowded";
  kv.put<Spent>(KEY, Object.fromEntries([...standing, [id, expiresAt]]));
  return "spent";
}
