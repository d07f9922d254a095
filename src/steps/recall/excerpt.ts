/**
 * A message as `recall` reads it by its name: whole where it fits, and otherwise the beginning and end of its parts.
 *
 * Boundary: one message in, text out; how much fits is the caller's to say. Safe because what is left out is always said,
 * with its size, and no line of a message can pose as the beginning of another one.
 */
import type { UIMessage } from "ai";
import { cutMiddle, escapeLines, parseTranscript, renderTranscript, type Block } from "../draft/render.ts";
import { escapeHeaders, wholeText } from "./quote.ts";

export interface Excerpt {
  readonly text: string;
  /** True when something was left out. */
  readonly clipped: boolean;
}

/** Parts of a message are shortened to this many characters, then to less, until all of it fits. */
const LIMITS = [16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120] as const;
const WHOLE = { toolChars: Infinity, textChars: Infinity, reasoningChars: Infinity };

/** What is shown of a message; null when not even a little of it fits. */
export function excerptMessage(message: UIMessage, fits: (text: string) => boolean): Excerpt | null {
  const whole = wholeText({ message });
  if (fits(whole)) return { text: whole, clipped: false };
  const blocks = parseTranscript(renderTranscript([{ kind: "message", message }], WHOLE))[0]?.blocks ?? [];
  for (const limit of blocks.length === 0 ? [] : LIMITS) {
    const text = shorten(blocks, limit);
    if (fits(text)) return { text, clipped: true };
  }
  for (const limit of LIMITS) {
    const text = cutMiddle(whole, limit);
    if (fits(text)) return { text, clipped: true };
  }
  return null;
}

function shorten(blocks: readonly Block[], limit: number): string {
  const shown = blocks.map(({ kind, name, id, text }, at) => {
    const header = at === 0 && kind === "text" ? "" : `[${[kind, name, id].filter((each) => each !== "").join(" ")}]\n`;
    return `${header}${escapeLines(cutMiddle(text, limit))}`.trimEnd();
  });
  return escapeHeaders(shown.join("\n"));
}
