/**
 * Detects encoded bytes in text, which nobody would read or search for, and which are useless when cut.
 *
 * Pure. It looks at a text as a whole. A text that only begins like a data URL, such as a line of an event stream
 * ("data: …"), is ordinary text.
 */

/** With a type or `base64`, and after the comma only characters that a URL can have. */
const DATA_URL = /^data:(?:[\w.+-]+\/[\w.+-]+(?:;[\w.+-]+(?:=[^\s;,]*)?)*|(?:;[\w.+-]+=[^\s;,]*)*;base64),\S*$/i;

const UNBROKEN = /^[\w+/=-]+$/;

/** A data URL, or at least `chars` characters of base64 or hex without a break. */
export function isEncoded(text: string, chars: number): boolean {
  return DATA_URL.test(text) || (text.length >= chars && UNBROKEN.test(text));
}
