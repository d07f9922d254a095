/**
 * Tickets: short-lived admission to one agent, for a browser, which can put no header on a WebSocket.
 *
 * A ticket is `<expiry>.<signature>`, the signature (HMAC-SHA-256) over the agent's class and name and the expiry. It
 * stands in a URL, and URLs are kept in logs: so it is good for a minute, for one agent, and for opening a WebSocket
 * only. Safe because the check is the platform's own, in constant time, and nothing is stored that could be lost.
 */
import { TICKET_MS } from "../limits.ts";

/** An agent as its path names it: `/agents/<agent>/<name>`, both as they stand there. */
export interface AgentPlace {
  readonly agent: string;
  readonly name: string;
}

export interface Ticket {
  readonly ticket: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

export async function issueTicket(secret: string, to: AgentPlace, now: number): Promise<Ticket> {
  const expiresAt = now + TICKET_MS;
  const signature = await crypto.subtle.sign("HMAC", await keyOf(secret), claim(to, expiresAt));
  return { ticket: `${expiresAt.toString(36)}.${toHex(new Uint8Array(signature))}`, expiresAt };
}

/** False for one that is over, forged, malformed, for another agent, or signed with another secret. */
export async function isTicketValid(
  secret: string,
  to: AgentPlace,
  { ticket, now }: { ticket: string; now: number },
): Promise<boolean> {
  const [, expiry = "", signature = ""] = /^([0-9a-z]{1,10})\.([0-9a-f]{64})$/.exec(ticket) ?? [];
  if (signature === "") return false;
  const expiresAt = Number.parseInt(expiry, 36);
  const genuine = await crypto.subtle.verify("HMAC", await keyOf(secret), fromHex(signature), claim(to, expiresAt));
  // A moment too far ahead was not given out by this clock: a secret of another purpose must not make long-lived ones.
  return genuine && now < expiresAt && expiresAt <= now + TICKET_MS;
}

/** JSON, so that no two claims are one text; its first word keeps the signature from meaning anything elsewhere. */
function claim({ agent, name }: AgentPlace, expiresAt: number): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(["palimpsest-ticket", agent, name, expiresAt]));
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
