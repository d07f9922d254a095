/**
 * Tickets: short-lived admission to one agent, for a browser, which can put no header on a WebSocket.
 *
 * A ticket is `<expiry>.<id>.<caller>.<signature>`, the signature (HMAC-SHA-256) over the agent's class and name and the
 * rest. It stands in a URL, and URLs are kept in logs: so it is good for a minute, for one agent, and for opening one
 * WebSocket. That it is genuine the door checks alone, before an agent is woken, in constant time; that it is shown for the
 * first time only the agent can tell (used-tickets.ts).
 */

/** How long a ticket admits (ms): a page asks for one just before it connects, and URLs are kept in logs. */
export const TICKET_MS = 60_000;

/** An agent as its path names it: `/agents/<agent>/<name>`, the class as it stands there, the name read (agent-name.ts). */
export interface AgentPlace {
  readonly agent: string;
  readonly name: string;
}

export interface Ticket {
  readonly ticket: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** What a genuine ticket says. */
export interface TicketClaim {
  /** Of this ticket: no other of the same minute has it. */
  readonly id: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Who asked for it, as {@link nameCaller} names them. */
  readonly caller: string;
}

export async function issueTicket(
  secret: string,
  to: AgentPlace,
  { caller, now }: { caller: string; now: number },
): Promise<Ticket> {
  const claim = { id: crypto.randomUUID().replaceAll("-", ""), expiresAt: now + TICKET_MS, caller };
  const signature = await crypto.subtle.sign("HMAC", await keyOf(secret), textOf(to, claim));
  const said = [claim.expiresAt.toString(36), claim.id, caller, toHex(new Uint8Array(signature))];
  return { ticket: said.join("."), expiresAt: claim.expiresAt };
}

/** Null for one that is over, forged, malformed, for another agent, or signed with another secret. */
export async function readTicket(
  secret: string,
  to: AgentPlace,
  { ticket, now }: { ticket: string; now: number },
): Promise<TicketClaim | null> {
  const parts = /^([0-9a-z]{1,10})\.([0-9a-f]{32})\.([0-9a-f]{16})\.([0-9a-f]{64})$/.exec(ticket);
  if (parts === null) return null;
  const [, expiry = "", id = "", caller = "", signature = ""] = parts;
  const claim = { id, expiresAt: Number.parseInt(expiry, 36), caller };
  const genuine = await crypto.subtle.verify("HMAC", await keyOf(secret), fromHex(signature), textOf(to, claim));
  // A moment too far ahead was not given out by this clock: a secret of another purpose must not make long-lived ones.
  return genuine && now < claim.expiresAt && claim.expiresAt <= now + TICKET_MS ? claim : null;
}

/** JSON, so that no two claims are one text; its first word keeps the signature from meaning anything elsewhere. */
function textOf({ agent, name }: AgentPlace, { id, expiresAt, caller }: TicketClaim): Uint8Array {
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
