/** Cuts a text into pieces for answers of a limited size, each of which begins where the one before it ended. */
import { wholeCharacters } from "../draft/render.ts";

/** The last place up to which an answer fits. It is the end of a line, or a character where one line is too long for an answer. */
export function endWithin(text: string, { from, fits }: { from: number; fits: (to: number) => boolean }): number {
  if (fits(text.length)) return text.length;
  let [last, over] = [from + 1, text.length];
  while (over - last > 1) {
    const middle = (last + over) >> 1;
    if (fits(middle)) last = middle;
    else over = middle;
  }
  const line = text.lastIndexOf("\n", last - 1) + 1;
  return line > from ? line : from + Math.max(1, wholeCharacters(text, from, last).length);
}
