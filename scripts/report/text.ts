import { showInvisible } from "../cli/in-package.ts";
/** Numbers for people, and text that fits its columns. Columns are counted as a terminal counts them, so colour takes none. */

/** `950`, `12.3k`, `1.25M`. */
export function count(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 99_950) return `${(value / 1000).toFixed(1)}k`;
  if (value < 999_500) return `${Math.round(value / 1000)}k`;
  return `${(value / 1_000_000).toFixed(2)}M`;
}

/** `0.4 ms`, `12 ms`, `1.3 s`, `2 min 05 s`. */
export function duration(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** `1 run`, `2 runs`. */
export function plural(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

/** Text of a transcript without terminal control sequences. Invisible characters are shown by name. */
export function inert(text: string): string {
  // Removes whole colour sequences first, because otherwise their printable tails would stay behind as text.
  return showInvisible(text.replace(ANSI, "")).replaceAll("\t", "  ");
}

/** Columns that `text` takes. */
export function columns(text: string): number {
  let sum = 0;
  for (const character of text.replace(ANSI, "")) {
    if (!COMBINING.test(character)) sum += WIDE.test(character) ? 2 : 1;
  }
  return sum;
}

/** Uncoloured `text` in at most `width` columns, with an ellipsis where it was cut. */
export function clip(text: string, width: number): string {
  if (columns(text) <= width) return text;
  let kept = "";
  for (const character of text) {
    if (columns(kept + character) > width - 1) break;
    kept += character;
  }
  return width > 0 ? `${kept}…` : "";
}

/** Pads `text` to `width` columns, on the right by default. */
export function pad(text: string, width: number, align: "left" | "right" = "left"): string {
  const filling = " ".repeat(Math.max(0, width - columns(text)));
  return align === "left" ? text + filling : filling + text;
}

/** Uncoloured `text` in lines of at most `width` columns, broken between words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((each) => each !== "")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (columns(joined) <= width) {
      line = joined;
      continue;
    }
    if (line !== "") lines.push(line);
    line = clip(word, width);
  }
  return line === "" ? lines : [...lines, line];
}

// oxlint-disable-next-line no-control-regex -- control characters are what these are about
const ANSI = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g;
const COMBINING = /^(?:\p{M}|\u200D)$/u;
const WIDE =
  /^[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}]$/u;
