/**
 * Tells an agent the name and the ticket of an admitted caller.
 *
 * It writes both into a request's headers and reads them there. It decides nothing. The door removes both headers from every outside
 * request before it writes its own, so a caller cannot forge them.
 */
import type { TicketClaim } from "./tickets.ts";

const CALLER = "X-Palimpsest-Caller";
const TICKET = "X-Palimpsest-Ticket";

export interface Visit {
  /** The caller's name as `nameCaller` (caller.ts) gives it. Null where the request passed no door. */
  readonly caller: string | null;
  readonly ticket: Pick<TicketClaim, "id" | "expiresAt"> | null;
}

/** Sets the headers, or removes them. */
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
