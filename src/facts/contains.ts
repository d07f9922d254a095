/**
 * Tests whether a text contains a value word for word.
 *
 * A text in, a test out. Case and the width of blanks are ignored. A value must stand on its own or at the edge of a
 * longer name. So `src/a.ts` contains `a.ts`, and `data.ts` does not.
 */
import { safeLine } from "../steps/text/safe-text.ts";

/** The end of a text that a name continues, and the start of a text that continues a name. An underscore may be emphasis. */
const GOES_ON_FROM = /[\p{L}\p{N}]_?$/u;
const GOES_ON = /^_?[\p{L}\p{N}]/u;
const EDGE = /[\p{L}\p{N}_]/u;

/** Returns a test whether the text contains a value. */
export function contains(text: string): (value: string) => boolean {
  const whole = flatten(text);
  return (value) => {
    const wanted = flatten(value);
    if (wanted === "") return true;
    const opens = EDGE.test(wanted.charAt(0));
    const closes = EDGE.test(wanted.charAt(wanted.length - 1));
    for (let at = whole.indexOf(wanted); at !== -1; at = whole.indexOf(wanted, at + 1)) {
      const end = at + wanted.length;
      const within =
        (opens && GOES_ON_FROM.test(whole.slice(Math.max(0, at - 2), at))) ||
        (closes && GOES_ON.test(whole.slice(end, end + 2)));
      if (!within) return true;
    }
    return false;
  };
}

function flatten(text: string): string {
  return safeLine(text).toLowerCase();
}
