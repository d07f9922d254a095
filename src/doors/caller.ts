/**
 * Identifies the caller, as far as the door can tell: by the Worker's secret, by a ticket, or by being on this machine.
 *
 * It fails closed, so a missing, odd or short credential identifies nobody. It names each admitted caller, so that the calls of all their
 * connections count together, and tells the agent that name and the ticket in headers of the request.
 */

/** Fewest characters of the Worker's secret. Nobody can guess 24 of any usual alphabet. */
export const MIN_SECRET_CHARS = 24;

export interface DoorEnv {
  /** The secret, whose holder may do everything. Without it only callers on this machine are served. */
  readonly PALIMPSEST_SECRET?: string;
}

/** The configured secret. It is `unusable` when it is too short or holds characters that no header carries. */
export type Secret =
  | { readonly kind: "set"; readonly value: string }
  | { readonly kind: "unset" }
  | { readonly kind: "unusable"; readonly advice: string };

/** Characters that every client and every proxy sends unchanged in a header. Spaces and accents are excluded. */
const SENDABLE = /^[\x21-\x7e]+$/;

export function readSecret({ PALIMPSEST_SECRET: value }: DoorEnv): Secret {
  if (value === undefined || value === "") return { kind: "unset" };
  if (!SENDABLE.test(value)) {
    const advice =
      "PALIMPSEST_SECRET holds a space, a line end or a character that no header carries. Give it letters, digits and marks such as - and _ only.";
    return { kind: "unusable", advice };
  }
  if (value.length >= MIN_SECRET_CHARS) return { kind: "set", value };
  const advice = `PALIMPSEST_SECRET is too short: give it ${MIN_SECRET_CHARS} characters or more.`;
  return { kind: "unusable", advice };
}

/** True when the request carries the secret as `Authorization: Bearer …`. The comparison takes the same time for any input. */
export async function holdsSecret(request: Request, secret: string): Promise<boolean> {
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
  return isSame(given, secret);
}

/**
 * Returns the caller's address. For IPv6 it returns the 64-bit network, because the holder of one address has all of that network. In front
 * of a deployed Worker the network sets the address, regardless of the caller's own headers. A caller without one is "nowhere".
 */
export function addressOf(request: Request): string {
  const address = request.headers.get("CF-Connecting-IP") ?? "nowhere";
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [before = [], after = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
}

/** Returns a caller's name for URLs and headers. Its 16 characters are the same for the same caller and reveal nothing else. */
export async function nameCaller(caller: string): Promise<string> {
  const bytes = await digest(JSON.stringify(["palimpsest-caller", caller]));
  return Array.from(bytes.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares two digests of equal length to the end, so the time says nothing about either text. */
async function isSame(a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([digest(a), digest(b)]);
  return left.reduce((difference, byte, at) => difference | (byte ^ (right[at] ?? 0)), 0) === 0;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/**
 * Lifetime of a ticket (ms). A browser needs tickets, because it can set no header on a WebSocket. A ticket stands in a URL, and URLs are
 * kept in logs, so it is for one minute, one agent and one WebSocket.
 */
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

/** A ticket is `<expiry>.<id>.<caller>.<signature>`. The signature covers the agent as well. */
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

// The door removes both headers from every outside request before it writes its own, so a caller cannot forge them.
const CALLER = "X-Palimpsest-Caller";
const TICKET = "X-Palimpsest-Ticket";

export interface Visit {
  /** The caller's name as {@link nameCaller} gives it. Null where the request passed no door. */
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

/** Most used tickets of one agent that are remembered in their minute, in one row. They allow thirty connections a second. */
export const MAX_SPENT_TICKETS = 2_000;

const KEY = "palimpsest:spent-tickets";

/** Epoch ms at which each ticket expires, by id. */
type Spent = Readonly<Record<string, number>>;

/** `over` means used before or expired. `crowded` means that too many tickets were used in their minute to remember another. */
export type Spending = "spent" | "over" | "crowded";

/**
 * Remembers that a ticket opened a WebSocket, until it expires. The list is read and written synchronously, so of two connections with one
 * ticket one is admitted, also across a restart. The write is durable before the platform sends the answer.
 */
export function spendTicket(kv: SyncKvStorage, { id, expiresAt }: NonNullable<Visit["ticket"]>, now: number): Spending {
  const stored = kv.get<Spent>(KEY) ?? {};
  // The agent's own clock drops an id, so the same clock must decide that its ticket is over.
  if (now >= expiresAt || Object.hasOwn(stored, id)) return "over";
  const standing = Object.entries(stored).filter(([, until]) => until > now);
  if (standing.length >= MAX_SPENT_TICKETS) return "crowded";
  kv.put<Spent>(KEY, Object.fromEntries([...standing, [id, expiresAt]]));
  return "spent";
}
