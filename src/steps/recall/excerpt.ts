/**
 * A message as `recall` shows it: whole where it fits, and otherwise the part of it that was looked for.
 *
 * Boundary: one message in, text out; how much fits is the caller's to say. Safe because what is left out is always said,
 * with its size, and no line of a message can pose as the beginning of another one.
 */
import type { UIMessage } from "ai";
import {
  cutMiddle,
  escapeLines,
  parseTranscript,
  renderTranscript,
  wholeCharacters,
  type Block,
} from "../draft/render.ts";

export interface Excerpt {
  readonly text: string;
  /** True when something was left out. */
  readonly clipped: boolean;
}

/** Parts of a message are shortened to this many characters, then to less, until all of it fits. */
const LIMITS = [16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120] as const;
const WHOLE = { toolChars: Infinity, textChars: Infinity, reasoningChars: Infinity };

/** Stands for a message of which no part can be shown as text. */
const NOTHING = "(nothing that can be read)";

/** What is shown of a message; null when not even a little of it fits. `words` are what was looked for, if anything. */
export function excerptMessage(
  message: UIMessage,
  words: readonly string[],
  fits: (text: string) => boolean,
): Excerpt | null {
  const rendered = renderTranscript([{ kind: "message", message }], WHOLE);
  const whole = rendered.includes("\n") ? escapeHeaders(rendered.slice(rendered.indexOf("\n") + 1)) : NOTHING;
  if (fits(whole)) return { text: whole, clipped: false };
  const blocks = parseTranscript(rendered)[0]?.blocks ?? [];
  const hits = blocks.filter((block) => findHit(block.text, words) !== null);
  for (const shown of [blocks, hits]) {
    for (const limit of shown.length === 0 ? [] : LIMITS) {
      const text = shorten(shown, words, limit);
      const rest = blocks.length - shown.length;
      const noted = rest === 0 ? text : `${text}\n[… ${rest} parts of this message left out …]`;
      if (fits(noted)) return { text: noted, clipped: true };
    }
  }
  // What was looked for and does not fit is left to a question of its own: its message's edges would not answer this one.
  for (const limit of hits.length > 0 ? [] : LIMITS) {
    const text = cutMiddle(whole, limit);
    if (fits(text)) return { text, clipped: true };
  }
  return null;
}

/** The words and phrases of a query, longest first: the longest is the likeliest to be rare. */
export function wordsOf(query: string): string[] {
  const words = [...query.matchAll(/"([^"]+)"|([^\s"]+)/g)].map(([, phrase, word]) => phrase ?? word ?? "");
  return words
    .map((word) => word.replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""))
    .filter((word) => word !== "")
    .toSorted((a, b) => b.length - a.length);
}

/** About `limit` characters of the text around the first of the words in it; its start and end when none is. */
export function clipAround(text: string, words: readonly string[], limit: number): string {
  if (text.length <= limit) return text;
  const hit = findHit(text, words);
  if (hit === null) return cutMiddle(text, limit);
  const room = Math.max(0, limit - 2 * LEFT_OUT_CHARS);
  const from = Math.max(0, Math.min(hit - Math.floor(room / 2), text.length - room));
  const shown = wholeCharacters(text, from, Math.min(text.length, from + room));
  const after = text.length - from - shown.length;
  return `${leftOut(from)}${shown}${after <= 0 ? "" : `\n${leftOut(after).trimEnd()}`}`;
}

/** Room that a note of what is left out takes. */
const LEFT_OUT_CHARS = 40;

function leftOut(characters: number): string {
  return characters === 0 ? "" : `[… ${characters} characters left out …]\n`;
}

function findHit(text: string, words: readonly string[]): number | null {
  for (const word of words) {
    const at = text.search(new RegExp(word.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&"), "i"));
    if (at >= 0) return at;
  }
  return null;
}

function shorten(blocks: readonly Block[], words: readonly string[], limit: number): string {
  const shown = blocks.map(({ kind, name, id, text }, at) => {
    const header = at === 0 && kind === "text" ? "" : `[${[kind, name, id].filter((each) => each !== "").join(" ")}]\n`;
    return `${header}${escapeLines(clipAround(text, words, limit))}`.trimEnd();
  });
  return escapeHeaders(shown.join("\n"));
}

/** Lines that begin like the line over a recalled message. */
function escapeHeaders(text: string): string {
  return text.replaceAll(/^(?=\\*\[@)/gm, "\\");
}
