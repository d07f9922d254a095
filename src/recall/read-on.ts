/**
 * Reads one original word for word, in pieces that fit an answer. Each piece says how to ask for the next.
 *
 * Safe because a stored message stays the same, so the characters of one answer go on where those of the one before it ended. Of a message
 * that was changed in between, a reader gets the new text from there.
 */
import type { Recall, RecalledMessage } from "../agent/recalled.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { endWithin } from "../steps/text/text.ts";

export interface Reading {
  /** The original as a text, under its header line. */
  readonly header: string;
  readonly text: string;
  readonly from: number;
  readonly maxTokens: number;
}

export function readOn(piece: Reading, original: RecalledMessage, count: CountTokens): Recall {
  const { header, text, maxTokens } = piece;
  // Half of a character cannot be stored, so a piece that would begin with one begins with the whole.
  const from = /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(piece.from - 1, piece.from + 1))
    ? piece.from - 1
    : piece.from;
  if (from > 0 && from >= text.length) {
    const advice = `${original.reference} has ${text.length} characters, which were all read.`;
    return { kind: "nothing", reason: "unknown", text: advice };
  }
  const answer = (to: number): string => {
    const place = from === 0 && to === text.length ? "" : `Characters ${from} to ${to} of ${text.length}.`;
    const next = to === text.length ? "" : ` For what follows: ids: ["${original.reference}"], from: ${to}.`;
    return `${header}${text.slice(from, to)}${place === "" ? "" : `\n\n(${place}${next})`}`;
  };
  const to = endWithin(text, { from, maxTokens, fits: (end) => count(answer(end)) <= maxTokens });
  const clipped = from > 0 || to < text.length;
  return { kind: "found", text: answer(to), messages: [{ ...original, clipped }], leftOut: 0 };
}
