/**
 * Identifies the caller, as far as the door can tell.
 *
 * It recognises the holder of the Worker's secret and a caller on this machine. It names each admitted caller, so that the calls of all
 * their connections count together. It knows no agent and no route. It fails closed, so a missing, odd or short credential identifies
 * nobody.
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
