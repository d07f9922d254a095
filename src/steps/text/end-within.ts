/** Cuts a text into pieces for answers of a limited size, each of which begins where the one before it ended. */
import { wholeCharacters } from "../draft/render.ts";

/** Longer texts than this for each token are not counted (characters). Text that a model reads has 4 to 5, and a run of spaces more. */
const MOST_CHARS_PER_TOKEN = 16;

interface Limit {
  readonly from: number;
  readonly maxTokens: number;
  readonly fits: (to: number) => boolean;
}

/** The last place up to which an answer fits. It is the end of a line, or a character where one line is too long for an answer. */
export function endWithin(text: string, { from, maxTokens, fits }: Limit): number {
  const end = Math.min(text.length, from + maxTokens * MOST_CHARS_PER_TOKEN);
  if (end === text.length && fits(end)) return end;
  let [last, over] = [from + 1, end];
  while (over - last > 1) {
    const middle = (last + over) >> 1;
    if (fits(middle)) last = middle;
    else over = middle;
  }
  const line = text.lastIndexOf("\n", last - 1) + 1;
  return line > from ? line : from + Math.max(1, wholeCharacters(text, from, last).length);
}
