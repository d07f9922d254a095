/** Cuts a section of a text to a budget, at the end of a line, and says where the rest is. */
import { MAX_REFERENCED_RATIO } from "../../limits.ts";
import type { CountTokens } from "../message/measure.ts";
import { findOpenFence } from "../text/fences.ts";
import { dropReferences } from "./provenance.ts";
import { wholeCharacters } from "./render.ts";

/** Tokens of the words. The budgets count words only, without references. */
export function wordTokens(text: string, count: CountTokens): number {
  return count(dropReferences(text));
}

/** Whether a text keeps to a budget by its words, and to the larger limit with its references. */
export function isWithin(text: string, tokens: number, count: CountTokens): boolean {
  return count(text) <= tokens * MAX_REFERENCED_RATIO && wordTokens(text, count) <= tokens;
}

/** The line at the end of a cut text, and the token counter. */
export interface CutOptions {
  readonly pointer: string;
  readonly countTokens: CountTokens;
}

/** The factor by which a section or a line shrinks in the next round of fitting. */
export const CAP_STEP = 0.8;

/**
 * The text's first lines within so many tokens, followed by the pointer. Returns the same text where it fits. If the
 * first line is too long, its beginning is used. A code fence that the cut leaves open is closed.
 */
export function cutSection(text: string, tokens: number, { pointer, countTokens }: CutOptions): string {
  const fitsIn = (part: string): boolean => isWithin(part, tokens, countTokens);
  if (fitsIn(text)) return text;
  const lines = text.split("\n");
  const cutAt = (count: number): string => closeWith(pointer, lines.slice(0, count).join("\n"));
  // Binary search, because a person's text may have thousands of lines, and notes are cut whenever they are shown.
  let [fits, over] = [0, lines.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (fitsIn(cutAt(middle))) fits = middle;
    else over = middle;
  }
  if (fits > 0) return cutAt(fits);
  const [first = ""] = lines;
  for (let characters = first.length; characters >= LEAST_CUT; characters = Math.floor(characters * CAP_STEP)) {
    const cut = closeWith(pointer, wholeCharacters(first, 0, characters).trimEnd());
    if (fitsIn(cut)) return cut;
  }
  return fitsIn(pointer) ? pointer : "";
}

/** Fewer characters of a line than this say nothing. */
const LEAST_CUT = 20;

function closeWith(pointer: string, text: string): string {
  return [text, findOpenFence(text) ?? "", pointer].filter((line) => line !== "").join("\n");
}
