/**
 * Micro-compaction: shortens older messages for a prompt, without or before a compaction.
 *
 * On a copy, shortens long tool outputs and long texts of all but the recent messages. It stores nothing, so nothing is
 * lost. A summary takes over where this is no longer enough.
 *
 * Why it is safe:
 * - A shortened output keeps its shape as far as possible. Strings stay strings and objects keep their keys, so that a
 *   tool's own `toModelOutput` still reads it. Where only a preview fits, it is valid JSON and is marked as a preview.
 * - Bytes of a file in an output stay whole, or a line takes their place (steps/message/message.ts).
 * - A shortened text is no reference to the provider's own copy of it (steps/view/items.ts).
 * - These stay whole: error texts, files, reasoning (signed by providers), inputs, system messages, summaries, and
 *   outputs of tools that the provider ran, because the provider checks those.
 * - The line between older and recent messages moves in steps, and a message is always shortened in the same way. So
 *   the prompt up to the line stays byte for byte the same, and the provider's cache of it stays valid.
 */
import type { UIMessage } from "ai";
import { checkFields, checkWhole } from "../known-fields.ts";
import { ENCODED_OUTPUT_CHARS, MAX_CHARS_PER_TOKEN } from "../limits.ts";
import { isEncoded } from "../steps/text/text.ts";
import { cutMiddle } from "../steps/draft/render.ts";
import {
  fieldText,
  innerParts,
  jsonText,
  toolPart,
  type Part,
  valueTokens,
  withoutBytes,
  messageSteps,
} from "../steps/message/message.ts";
import { ownWhereChanged } from "../steps/view/items.ts";
import { isSummary } from "../steps/view/view.ts";

/**
 * Defaults of `truncate`. They are the newest messages that stay whole, and the characters of an older tool output and an older text. The
 * last is the number of messages by which the boundary moves, so that a provider's cache holds in between.
 */
export const TRUNCATE_KEEP_RECENT = 4;
export const TRUNCATE_OUTPUT_CHARS = 500;
export const TRUNCATE_TEXT_CHARS = 10_000;
export const TRUNCATE_STEP = 8;

export interface TruncateOptions {
  /** Newest messages that are always left whole. Default 4. Up to `step - 1` more stay whole until the line moves. */
  readonly keepRecent?: number | undefined;
  /** UTF-16 units of one older tool output, as JSON unless it is a string. Default 500, at least 200. */
  readonly maxToolOutputChars?: number | undefined;
  /** UTF-16 units of one older text. Default 10,000, at least 200. */
  readonly maxTextChars?: number | undefined;
  /** Messages by which the line between older and recent moves. Default 8. */
  readonly step?: number | undefined;
}

/** Below this limit, a shortened text would consist mostly of its own note. */
const LEAST_CHARS = 200;

const RUN_AGAIN = "Shortened to save context. Run the tool again to see all of it.";

/**
 * Shortens long parts of older messages. Returns the same array, and the same objects in it, wherever nothing changed.
 * Throws `invalid_options`.
 */
export function truncateOlderMessages(history: UIMessage[], options: TruncateOptions = {}): UIMessage[] {
  checkFields("truncate", options, { keepRecent: true, maxToolOutputChars: true, maxTextChars: true, step: true });
  const {
    keepRecent = TRUNCATE_KEEP_RECENT,
    maxToolOutputChars = TRUNCATE_OUTPUT_CHARS,
    maxTextChars = TRUNCATE_TEXT_CHARS,
    step = TRUNCATE_STEP,
  } = options;
  checkWhole("keepRecent", keepRecent, 0);
  checkWhole("step", step, 1);
  checkWhole("maxToolOutputChars", maxToolOutputChars, LEAST_CHARS);
  checkWhole("maxTextChars", maxTextChars, LEAST_CHARS);
  const older = Math.floor(Math.max(0, history.length - keepRecent) / step) * step;
  const limits = { output: maxToolOutputChars, text: maxTextChars };
  const truncated = history.map((message, index) => (index < older ? truncateMessage(message, limits) : message));
  return truncated.every((message, index) => message === history[index]) ? history : truncated;
}

/** UTF-16 units of one output and of one text. */
export interface Limits {
  readonly output: number;
  readonly text: number;
}

function truncateMessage(message: UIMessage, limits: Limits): UIMessage {
  if (message.role === "system" || isSummary(message)) return message;
  const parts = truncateParts(message.parts, limits);
  return parts === message.parts ? message : { ...message, parts };
}

/** Returns the same array when no part exceeds the limits. */
export function truncateParts(parts: Part[], limits: Limits): Part[] {
  const steps = messageSteps({ id: "", role: "assistant", parts });
  const truncated = steps.flatMap((step) =>
    ownWhereChanged(
      step,
      step.map((part) => truncatePart(part, limits)),
    ),
  );
  if (truncated.length !== parts.length) return truncated;
  return truncated.every((part, index) => part === parts[index]) ? parts : truncated;
}

function truncatePart(part: Part, limits: Limits): Part {
  if (part.type === "text") {
    const text = fieldText(part.text);
    return text.length <= limits.text ? part : { ...part, text: cutMiddle(text, limits.text) };
  }
  if (part.type === "steering-message") {
    const inner = innerParts(part);
    const parts = truncateParts(inner, limits);
    return parts === inner ? part : ({ ...part, parts } as Part);
  }
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true) return part;
  const output = shortenShown(tool.output, limits.output);
  return output === tool.output ? part : { ...tool, output };
}

/**
 * Shortens an output. Returns the same value when it fits. The result is at most `limit` long as JSON, so shortening it
 * again changes nothing. The note tells the model what to do, and must be much shorter than the limit.
 */
export function shortenOutput(output: unknown, limit: number, note = RUN_AGAIN): unknown {
  if (jsonText(output).length <= limit) return output;
  const told = withoutBytes(output);
  if (told !== output) return shortenOutput(told, limit, note);
  if (typeof output === "string") return shortenText(output, limit, note);
  for (let each = limit; each >= LEAST_CHARS / 2; each /= 2) {
    const shortened = shortenInside(output, Math.floor(each), note);
    if (jsonText(shortened).length <= limit) return shortened;
  }
  return previewOf(output, limit, note);
}

/** Shortens an output for a prompt. Bytes in it count as the files that a provider sees in them, and stay whole or go. */
export function shortenShown(output: unknown, limit: number): unknown {
  if (jsonText(output).length <= limit) return output;
  const chars = valueTokens(output, ({ length }) => length / MAX_CHARS_PER_TOKEN) * MAX_CHARS_PER_TOKEN;
  return chars <= limit ? output : shortenOutput(output, limit);
}

function shortenText(text: string, limit: number, note: string): string {
  const line = `\n[${note}]`;
  return cutMiddle(text, limit - line.length) + line;
}

/** The value with every text in it cut to `limit`. */
function shortenInside(value: unknown, limit: number, note: string): unknown {
  if (typeof value === "string") {
    // Half of encoded bytes is useless, and a provider refuses a request that contains them as a file.
    return value.length <= limit || isEncoded(value, ENCODED_OUTPUT_CHARS) ? value : shortenText(value, limit, note);
  }
  if (Array.isArray(value)) return value.map((each) => shortenInside(each, limit, note));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortenInside(each, limit, note)]));
}

/** Replaces an output of too many keys or items, or of encoded bytes. */
function previewOf(output: unknown, limit: number, note: string): unknown {
  const json = jsonText(output);
  for (let budget = limit; ; budget = Math.floor(budget / 2)) {
    const preview = { preview: cutMiddle(json, budget), note };
    const shaped = Array.isArray(output) ? [preview] : preview;
    if (budget === 0 || jsonText(shaped).length <= limit) return shaped;
  }
}
