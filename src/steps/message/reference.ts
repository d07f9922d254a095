/**
 * Short names of messages, for summaries to say where a bullet comes from and for a model to ask by.
 *
 * A reference is `@` and seven characters made of the message's id: the same wherever and whenever it is written, harmless
 * in any text, and found by the hash that the store keeps anyway. Two ids share one once in four billion pairs; whoever
 * resolves a reference then gets both messages, and loses none.
 */

/** Digits and letters of a reference: 36^7 is more than 2^32. */
const LENGTH = 7;
const REFERENCE = new RegExp(`^@?[0-9a-z]{${LENGTH}}$`);

export function referenceTo(messageId: string): string {
  return `@${hashId(messageId).toString(36).padStart(LENGTH, "0")}`;
}

/** The hash that a reference stands for, its `@` left out or not; null for any other text. */
export function hashOf(reference: string): number | null {
  if (!REFERENCE.test(reference)) return null;
  const hash = Number.parseInt(reference.replace("@", ""), 36);
  return hash < 2 ** 32 ? hash : null;
}

/** 32 bits of the id's UTF-16 units: FNV-1a, then stirred so that ids which differ in their last digit spread. Never 0. */
export function hashId(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return hash === 0 ? 1 : hash;
}
