/**
 * Short references to messages. Summaries use them to name the source of a bullet, and a model passes them to `recall`.
 *
 * A reference is `@` and seven characters derived from the message's id. It is the same in every text, harmless in any
 * text, and found by the hash that the store keeps anyway. Two ids share a reference once in four billion pairs. A
 * look-up then returns both messages, so none is lost.
 */

/** Characters of a reference, digits and lower-case letters. 36^7 is more than 2^32. */
const LENGTH = 7;
const REFERENCE = new RegExp(`^@?([0-9a-z]{${LENGTH}})(?:\\.([1-9]\\d{0,5}))?$`);

export function referenceTo(messageId: string): string {
  return `@${hashId(messageId).toString(36).padStart(LENGTH, "0")}`;
}

/** A reference to one tool call of a message, counted from 1. It stays the same when other calls come. */
export function referenceToCall(messageId: string, call: number): string {
  return `${referenceTo(messageId)}.${call}`;
}

/** The reference to the message of a call, by the reference to the call. */
export function messageOf(reference: string): string {
  return reference.slice(0, LENGTH + 1);
}

/** The message that a reference names by its hash, and the call, where it names one. Null for any other text. */
export function parseReference(reference: string): { readonly hash: number; readonly call: number | null } | null {
  const [, digits, call] = REFERENCE.exec(reference) ?? [];
  const hash = digits === undefined ? Infinity : Number.parseInt(digits, 36);
  return hash < 2 ** 32 ? { hash, call: call === undefined ? null : Number(call) } : null;
}

/** The hash of a reference to a message, with or without its `@`. Null for any other text. */
export function hashOf(reference: string): number | null {
  const parsed = parseReference(reference);
  return parsed === null || parsed.call !== null ? null : parsed.hash;
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
