/** Colour in the terminal's own sixteen colours. It is decided once and handed to everything that draws. */

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

export type Style = keyof typeof CODES;

/** Returns the text in the styles, or the unchanged text where there is no colour. */
export type Paint = (text: string, ...styles: readonly Style[]) => string;

/** True when colour is wanted. FORCE_COLOR wins, then NO_COLOR, then whether the output is a terminal. */
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
