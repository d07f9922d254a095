/**
 * Tickets are short-lived admissions to one agent. A browser needs them, because it can set no header on a WebSocket.
 *
 * A ticket is `<expiry>.<id>.<caller>.<signature>`. The signature (HMAC-SHA-256) covers the agent's class and name and the other fields. A
 * ticket stands in a URL, and URLs are kept in logs, so it is valid for one minute, one agent and one WebSocket. The door checks the
 * signature in constant time before an agent is woken. Only the agent knows whether the ticket was used before (used-tickets.ts).
 */

/** Lifetime of a ticket (ms). A page asks for one just before it connects, and URLs are kept in logs. */
export const TICKET_MS = 60_000;

/** An agent in the terms of its path `/agents/<agent>/<name>`. The class is as written there, and the name is decoded (agent-name.ts). */
export interface AgentAddress {
  readonly agent: string;
  readonly name: string;
}

export interface Ticket {
  readonly ticket: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** The contents of a genuine ticket. */
export interface TicketClaim {
  /** Unique id of the ticket. */
  readonly id: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** The caller who asked for it, named by {@link nameCaller}. */
  readonly caller: string;
}

export async function issueTicket(
  secret: string,
  to: AgentAddress,
  { caller, now }: { caller: string; now: number },
): Promise<Ticket> {
  const claim = { id: crypto.randomUUID().replaceAll("-", ""), expiresAt: now + TICKET_MS, caller };
  const signature = await crypto.subtle.sign("HMAC", await keyOf(secret), textOf(to, claim));
  const said = [claim.expiresAt.toString(36), claim.id, caller, toHex(new Uint8Array(signature))];
  return { ticket: said.join("."), expiresAt: claim.expiresAt };
}

/** Returns null for a ticket that is expired, forged, malformed, for another agent, or signed with another secret. */
export async function readTicket(
  secret: string,
  to: AgentAddress,
  { ticket, now }: { ticket: string; now: number },
): Promise<TicketClaim | null> {
  const parts = /^([0-9a-z]{1,10})\.([0-9a-f]{32})\.([0-9a-f]{16})\.([0-9a-f]{64})$/.exec(ticket);
  if (parts === null) return null;
  const [, expiry = "", id = "", caller = "", signature = ""] = parts;
  const claim = { id, expiresAt: Number.parseInt(expiry, 36), caller };
  const genuine = await crypto.subtle.verify("HMAC", await keyOf(secret), fromHex(signature), textOf(to, claim));
  // An expiry too far ahead does not come from this clock. Another use of the same secret must not yield long-lived tickets.
  return genuine && now < claim.expiresAt && claim.expiresAt <= now + TICKET_MS ? claim : null;
}

/** Uses JSON, so that no two claims give the same text. The first word makes the signature useless for other purposes. */
function textOf({ agent, name }: AgentAddress, { id, expiresAt, caller }: TicketClaim): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(["palimpsest-ticket", agent, name, expiresAt, id, caller]));
}

function keyOf(secret: string): Promise<CryptoKey> {
  const key = new TextEncoder().encode(secret);
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(hex: string): Uint8Array {
  return new Uint8Array(Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));
}
