/**
 * Renders an answer of `recall`: passages in the order of the conversation, each message under a header line.
 *
 *     [@0a1b2c3 user, 2026-01-31]
 *     What did we promise them?
 *     [assistant]
 *     Friday.
 *     [@4d5e6f7 assistant, 240 of 51234 characters]
 *     […]
 *     what was looked for
 *     […]
 *
 * Consecutive messages share one reference, and a day is shown only where it changes, because most messages are shorter
 * than a reference and a date. It is safe because a message's header tells how much is left out, and no line of a
 * message can pose as the header of another.
 */
import { escapeLines, renderTranscript } from "../../steps/draft/render.ts";
import { referenceTo } from "../../steps/message/message.ts";
import type { MessageBlocks, Passage } from "./passages.ts";

/** A message with the passages to quote. */
export interface Quoted {
  readonly cut: MessageBlocks;
  /** The day of the message, as its header shows it. */
  readonly day: string;
  readonly passages: readonly Passage[];
}

export interface Quote {
  readonly text: string;
  /** The `seq` of each message that is quoted only in part. */
  readonly clipped: ReadonlySet<number>;
}

const GAP = "[…]";
/** Replaces a message without any part that can be shown as text. */
const NOTHING = "(nothing that can be read)";
const WHOLE = { toolChars: Infinity, textChars: Infinity, reasoningChars: Infinity };

/** Quotes the messages, which must be in the order of `seq`. */
export function quote(quoted: readonly Quoted[]): Quote {
  const lines: string[] = [];
  const clipped = new Set<number>();
  let [lastDay, last] = ["", Number.NaN];
  for (const { cut, day, passages } of quoted) {
    const isWhole = cut.isAll && passages.length === cut.passages.length;
    if (!isWhole) clipped.add(cut.seq);
    const named = [cut.message.role, ...(day === lastDay ? [] : [day]), ...(isWhole ? [] : [sizeOf(cut, passages)])];
    const follows = cut.seq - last === 1 && day === lastDay && isWhole;
    lines.push(`[${follows ? "" : `${referenceTo(cut.message.id)} `}${named.join(", ")}]`);
    lines.push(isWhole ? wholeText(cut) : partText(cut, passages));
    [lastDay, last] = [day, cut.seq];
  }
  return { text: lines.join("\n"), clipped };
}

function sizeOf({ blocks, isAll }: MessageBlocks, passages: readonly Passage[]): string {
  const shown = passages.reduce((sum, { from, to }) => sum + to - from, 0);
  return `${shown} of ${isAll ? "" : "more than "}${blocks.reduce((sum, { text }) => sum + text.length, 0)} characters`;
}

/** A message word for word. */
export function wholeText({ message }: Pick<MessageBlocks, "message">): string {
  const rendered = renderTranscript([{ kind: "message", message }], WHOLE);
  return rendered.includes("\n") ? escapeHeaders(rendered.slice(rendered.indexOf("\n") + 1)) : NOTHING;
}

function partText({ blocks, passages: all }: MessageBlocks, passages: readonly Passage[]): string {
  const parts: string[] = [];
  const gap = (): void => {
    if (parts.at(-1) !== GAP) parts.push(GAP);
  };
  for (const [at, { kind, name, id, text }] of blocks.entries()) {
    const shown = passages.filter(({ block }) => block === at).toSorted((a, b) => a.from - b.from);
    if (shown.length === 0) {
      if (all.some(({ block }) => block === at)) gap();
      continue;
    }
    if (at > 0 || kind !== "text") parts.push(`[${[kind, name, id].filter((each) => each !== "").join(" ")}]`);
    let end = 0;
    for (const each of joined(shown)) {
      if (each.from > end) gap();
      parts.push(escapeHeaders(escapeLines(text.slice(each.from, each.to).trimEnd())));
      end = each.to;
    }
    if (end < text.length) gap();
  }
  return parts.join("\n");
}

/** Merges adjacent ranges. */
function joined(passages: readonly Passage[]): { from: number; to: number }[] {
  const stretches: { from: number; to: number }[] = [];
  for (const { from, to } of passages) {
    const last = stretches.at(-1);
    if (last?.to === from) last.to = to;
    else stretches.push({ from, to });
  }
  return stretches;
}

/** Behind any character that displays as a new line. */
const LINE_START = String.raw`(?<![^\n\v\f\r\u0085\u2028\u2029])`;
/** Characters that show nothing. A line that begins with them looks as it would without. */
const INVISIBLE = String.raw`\p{DI}\p{Cf}\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f`;
const HEADER = new RegExp(
  String.raw`${LINE_START}(?=[\\${INVISIBLE}]*\[[${INVISIBLE}]*(?:@|…\]|(?:user|assistant|system)[,\]]))`,
  "gu",
);

/** Escapes lines that look like the header of a recalled message or like a gap. */
export function escapeHeaders(text: string): string {
  return text.replaceAll(HEADER, "\\");
}
