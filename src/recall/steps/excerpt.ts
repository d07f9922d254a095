/**
 * An excerpt of a message that `recall` reads by name: the whole message if it fits, otherwise the start and end of its
 * parts.
 *
 * One message in, text out. The caller decides how much fits. It is safe because every gap is marked with its size, and
 * no line of a message can pose as the beginning of another message.
 */
import type { UIMessage } from "ai";
import { cutMiddle, escapeLines, parseTranscript, renderTranscript, type Block } from "../../steps/draft/render.ts";
import { escapeHeaders, wholeText } from "./quote.ts";

export interface Excerpt {
  readonly text: string;
  /** True when something was left out. */
  readonly clipped: boolean;
}

/** The limits in characters for each part of a message, tried in turn until the whole fits. */
const LIMITS = [16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120] as const;
const WHOLE = { toolChars: Infinity, textChars: Infinity, reasoningChars: Infinity };

/** The excerpt of a message. Null when even the shortest one does not fit. */
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
