/**
 * Who is at the door, as far as the door itself can tell.
 *
 * Job: recognise the holder of the Worker's secret, and a caller on this very machine; name whoever is let in, so that what
 * they ask for over many connections is counted together. Boundary: knows no agent and no route. Safe because it fails
 * closed: what is missing, odd or too short is nobody.
 */
import { MIN_SECRET_CHARS } from "../limits.ts";

export interface DoorEnv {
  /** Whoever holds it may do everything. Without it only callers on this machine are served. */
  readonly PALIMPSEST_SECRET?: string;
}

/** The configured secret; `unusable` when it is too short to be one, or nobody could send it. */
export type Secret =
  | { readonly kind: "set"; readonly value: string }
  | { readonly kind: "unset" }
  | { readonly kind: "unusable"; readonly advice: string };

/** What every client and every proxy carries in a header unchanged: no spaces, no accents. */
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

/** Whether the request carries the secret, as `Authorization: Bearer …`. Takes the same time whatever it carries. */
export async function holdsSecret(request: Request, secret: string): Promise<boolean> {
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
  return isSame(given, secret);
}

/** Headers that a proxy or the network in front of a deployed Worker adds: who sends one came from elsewhere. */
const FROM_ELSEWHERE = ["CF-Ray", "CF-Worker", "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"];

/**
 * Whether the caller is on this machine: its address is a loopback one, it asked for a loopback name, and nothing stood
 * between. Deployed, the network sets the address itself and never routes such a name, so nobody is. The name also keeps
 * a web page out that points a name of its own at this machine.
 */
export function isOnThisMachine(request: Request): boolean {
  if (FROM_ELSEWHERE.some((name) => request.headers.has(name))) return false;
  const { hostname } = new URL(request.url);
  return isLoopbackName(hostname) && isLoopbackAddress(request.headers.get("CF-Connecting-IP") ?? "");
}

function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || isLoopbackAddress(hostname);
}

function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}

/**
 * The address that a request came from, of IPv6 the network of it (64 bits): whoever has one such address has all of them.
 * Deployed, the network in front of the Worker sets it, whatever the caller said; a caller without one is "nowhere".
 */
export function placeOf(request: Request): string {
  const address = request.headers.get("CF-Connecting-IP") ?? "nowhere";
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [before = [], after = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
}

/** A caller's name as it may stand in a URL and be handed on: 16 characters that say the same of the same caller, and no more. */
export async function nameCaller(caller: string): Promise<string> {
  const bytes = await digest(JSON.stringify(["palimpsest-caller", caller]));
  return Array.from(bytes.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Digests have one length, and are compared to the end: the time taken says nothing about either text. */
async function isSame(a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([digest(a), digest(b)]);
  return left.reduce((difference, byte, at) => difference | (byte ^ (right[at] ?? 0)), 0) === 0;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
