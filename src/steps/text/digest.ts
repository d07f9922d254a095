/**
 * Digests that identify exact source text, 128 bits of SHA-256 in hex. Collisions are no concern at that width.
 *
 * A span's digest is the *sum* of its messages' digests (mod 2^128). So it can be added up from the digests of overlays
 * that cover parts of it, and two different covers of the same messages agree. Order needs no encoding, because
 * messages on a path cannot change places (M1).
 */
import { sha256 } from "./sha256.ts";

const MODULUS = 1n << 128n;

/** 32 hex characters that identify `parts`. Each part's length is hashed too, so `["ab","c"]` differs from `["a","bc"]`. */
export function digest(...parts: readonly string[]): string {
  const framed = parts.map((part) => `${part.length}:${part}`).join("");
  const bytes = sha256(new TextEncoder().encode(framed)).subarray(0, 16);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of a collection from its members' digests, in any order and grouping. */
export function sumDigests(digests: Iterable<string>): string {
  let sum = 0n;
  for (const each of digests) sum = (sum + BigInt(`0x${each}`)) % MODULUS;
  return sum.toString(16).padStart(32, "0");
}
