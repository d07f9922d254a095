/**
 * Digests that identify exact source text, 128 bits of SHA-256 in hex. Collisions are no concern at that width.
 *
 * A span's digest is the *sum* of its messages' digests (mod 2^128). So it can be added up from the digests of overlays
 * that cover parts of it, and two different covers of the same messages agree. Order needs no encoding, because
 * messages on a path cannot change places (M1).
 *
 * The only step that uses a platform: `node:crypto` is synchronous and pure, in Workers (`nodejs_compat`) and in Node.
 */
import { createHash } from "node:crypto";

const HEX_CHARACTERS = 32;
const MODULUS = 1n << 128n;

/** 32 hex characters that identify `parts`. Each part's length is hashed too, so `["ab","c"]` differs from `["a","bc"]`. */
export function digest(...parts: readonly string[]): string {
  const framed = parts.map((part) => `${part.length}:${part}`).join("");
  return createHash("sha256").update(framed).digest("hex").slice(0, HEX_CHARACTERS);
}

/** The digest of a collection from its members' digests, in any order and grouping. */
export function sumDigests(digests: Iterable<string>): string {
  let sum = 0n;
  for (const each of digests) sum = (sum + BigInt(`0x${each}`)) % MODULUS;
  return sum.toString(16).padStart(HEX_CHARACTERS, "0");
}
