/**
 * Short references to messages. Summaries use them to name the source of a bullet, and a model passes them to `recall`.
 *
 * A reference is `@` and seven characters derived from the message's id. It is the same in every text, harmless in any
 * text, and found by the hash that the store keeps anyway. Two ids share a reference once in four billion pairs. A
 * look-up then returns both messages, so none is lost.
 */

/** Characters of a reference, digits and lower-case letters. 36^7 is more than 2^32. */
const LENGTH = 7;
const REFERENCE = new RegExp(`^@?([0-9a-z]{${LENGTH}})$`);

export function referenceTo(messageId: string): string {
  return `@${hashId(messageId).toString(36).padStart(LENGTH, "0")}`;
}

/** The hash of a reference to a message, with or without its `@`. Null for any other text. */
export function hashOf(reference: string): number | null {
  const [, digits] = REFERENCE.exec(reference) ?? [];
  const hash = digits === undefined ? Infinity : Number.parseInt(digits, 36);
  return hash < 2 ** 32 ? hash : null;
}

/**
 * A 32-bit hash of the id's UTF-16 units: FNV-1a with a finalizer that spreads ids which differ in the last digit.
 * Never 0.
 */
export function hashId(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return hash === 0 ? 1 : hash;
}
