/**
 * Bytes that were written down as text: nothing that a person would read, search for or want half of.
 *
 * Boundary: pure, and looks at one text as a whole. A text that only begins like a data URL, as a line of an event stream
 * does ("data: …"), is a text.
 */

/** With a type or `base64`, and nothing after the comma that a URL could not hold. */
const DATA_URL = /^data:(?:[\w.+-]+\/[\w.+-]+(?:;[\w.+-]+(?:=[^\s;,]*)?)*|(?:;[\w.+-]+=[^\s;,]*)*;base64),\S*$/i;

const UNBROKEN = /^[\w+/=-]+$/;

/** A data URL, or at least `chars` characters of base64 or hex without a break. */
export function isEncoded(text: string, chars: number): boolean {
  return DATA_URL.test(text) || (text.length >= chars && UNBROKEN.test(text));
}
