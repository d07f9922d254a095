/**
 * What the door tells an agent of whoever it lets in: who they are, and by which ticket.
 *
 * Job: write it into a request's headers, and read it there. Boundary: decides nothing. Safe because the door takes both
 * headers off every request that comes from outside, whatever they say, before it writes its own.
 */
import type { TicketClaim } from "./tickets.ts";

const CALLER = "X-Palimpsest-Caller";
const TICKET = "X-Palimpsest-Ticket";

export interface Visit {
  /** As `nameCaller` (caller.ts) names them; null where no door stood before the agent. */
  readonly caller: string | null;
  readonly ticket: Pick<TicketClaim, "id" | "expiresAt"> | null;
}

/** Sets the headers, or takes them off. */
export function writeVisit(headers: Headers, { caller, ticket }: Visit): void {
  headers.delete(CALLER);
  headers.delete(TICKET);
  if (caller !== null) headers.set(CALLER, caller);
  if (ticket !== null) headers.set(TICKET, `${ticket.id}.${ticket.expiresAt}`);
}

export function readVisit({ headers }: Request): Visit {
  const [id = "", expiresAt] = headers.get(TICKET)?.split(".") ?? [];
  return {
    caller: headers.get(CALLER),
    ticket: id === "" ? null : { id, expiresAt: Number(expiresAt) },
  };
}
