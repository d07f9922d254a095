/** Colour, in the terminal's own sixteen: decided once, handed to whoever draws. */

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

export type Style = keyof typeof CODES;

/** Text in styles; the text itself where there is no colour. */
export type Paint = (text: string, ...styles: readonly Style[]) => string;

/** True when colour is welcome: FORCE_COLOR wins, then NO_COLOR, then whether a person is watching. */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const force = env["FORCE_COLOR"];
  if (force !== undefined && force !== "") return force !== "0" && force !== "false";
  if (env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "") return false;
  return isTerminal && env["TERM"] !== "dumb";
}

export function createPaint(colored: boolean): Paint {
  if (!colored) return (text) => text;
  return (text, ...styles) => {
    if (text === "" || styles.length === 0) return text;
    return `\u001B[${styles.map((style) => CODES[style]).join(";")}m${text}\u001B[0m`;
  };
}
