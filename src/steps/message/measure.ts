/**
 * Measures a message for planning: its tokens, and the tool calls that tie it to other messages.
 *
 * Reads one message once, when it is stored. It looks at no other message. The planner pairs calls with results by id.
 *
 * A tool part without a result is a *call*, and one with a result is a *result*. A part with both needs no pairing. It
 * constrains the planner only where an earlier part with the same id still waits for a result. Imported histories have
 * that shape, with call and result in separate messages.
 *
 * The *group* is the id that a provider gave to one reply, which may be stored as several rows. It is read from
 * `metadata.providerMessageId`, `metadata.responseId`, and then from any part's provider metadata (`messageId`,
 * `responseId`, `itemId`).
 */
import type { FileUIPart, UIMessage } from "ai";
import { MAX_NAME_CHARS, MESSAGE_OVERHEAD_TOKENS } from "../../limits.ts";
import { imageTokens } from "../tokens/image-tokens.ts";
import { fileTokensOf, valueTokens } from "./bytes.ts";
import { messageSteps } from "./slice.ts";
import { fieldText, hasResult, innerParts, jsonText, toolName, toolPart, type Part } from "./tool-parts.ts";

/** Tokens around a tool call with its result, for the provider's own wrapping of names, ids and JSON. */
export const TOOL_OVERHEAD_TOKENS = 60;

/**
 * Counts the tokens of a text as a whole number. A session uses one counter for everything (agent/token-counter.ts):
 * the estimate or a counter of its own.
 */
export type CountTokens = (text: string) => number;

/** A tool call id and the step that holds it. */
type CallPlace = readonly [id: string, step: number];

export interface Measure {
  /** Estimated tokens of the message, the sum of `steps`. */
  readonly tokens: number;
  /** Estimated tokens of each step. There is at least one step. */
  readonly steps: readonly number[];
  /** Tool parts that wait for a result. */
  readonly calls: readonly CallPlace[];
  /** Tool parts with a result. */
  readonly results: readonly CallPlace[];
  /** Steps with a text that is not blank. Reasoning, calls, files and data do not count as text. */
  readonly texts: readonly number[];
  /** The names of tools, answered or not, each with the first step that uses it. */
  readonly tools: readonly (readonly [name: string, step: number])[];
  readonly group: string | null;
}

export function measureMessage(message: UIMessage, countTokens: CountTokens): Measure {
  const calls: CallPlace[] = [];
  const results: CallPlace[] = [];
  const texts: number[] = [];
  const tools = new Map<string, number>();
  const steps = messageSteps(message).map((parts, step) => {
    let tokens = step === 0 ? MESSAGE_OVERHEAD_TOKENS : 0;
    if (parts.some(hasText)) texts.push(step);
    for (const part of parts) {
      tokens += partTokens(part, countTokens);
      const tool = toolPart(part);
      if (tool === null) continue;
      (hasResult(tool) ? results : calls).push([tool.toolCallId, step]);
      const name = toolName(tool).slice(0, MAX_NAME_CHARS);
      if (name !== "" && !tools.has(name)) tools.set(name, step);
    }
    return tokens;
  });
  const tokens = steps.reduce((sum, each) => sum + each, 0);
  return { tokens, steps, calls, results, texts, tools: [...tools], group: replyId(message) };
}

/** Estimated tokens of one part as a model is sent it. Parts for the page alone (data, sources) cost nothing. */
function partTokens(part: Part, count: CountTokens): number {
  const tool = toolPart(part);
  if (tool !== null) {
    const asked = count(`${toolName(tool)}${jsonText(tool.input)}`);
    return TOOL_OVERHEAD_TOKENS + asked + valueTokens(tool.errorText ?? tool.output, count);
  }
  if (part.type === "text" || part.type === "reasoning") return count(fieldText(part.text));
  if (part.type === "file" || part.type === "reasoning-file") return fileTokens(part);
  if (part.type === "steering-message") {
    return innerParts(part).reduce((sum, each) => sum + partTokens(each, count), 0);
  }
  return 0;
}

function hasText(part: Part): boolean {
  if (part.type === "steering-message") return innerParts(part).some(hasText);
  return part.type === "text" && fieldText(part.text).trim() !== "";
}

/** Estimated tokens of a file by its size, because token counters only read text. */
export function fileTokens(part: Pick<FileUIPart, "mediaType" | "url">): number {
  const url = fieldText(part.url);
  if (fieldText(part.mediaType).startsWith("image")) return imageTokens(url);
  return fileTokensOf(fileBytes(url));
}

/** In place of a file's bytes, where they were left out (lean.ts). */
const LEFT_OUT = /^data:;bytes=(\d{1,15}),$/;

/** Bytes inside a data URL. Null when the file is elsewhere, so that its size is unknown. */
export function fileBytes(url: string): number | null {
  if (!url.startsWith("data:")) return null;
  const leftOut = url.length < 40 ? LEFT_OUT.exec(url)?.[1] : undefined;
  if (leftOut !== undefined) return Number(leftOut);
  const comma = url.indexOf(",");
  const payload = url.length - comma - 1;
  return url.slice(0, comma).endsWith(";base64") ? Math.floor((payload * 3) / 4) : payload;
}

function replyId(message: UIMessage): string | null {
  const own = firstString(message.metadata, ["providerMessageId", "responseId"]);
  if (own !== null || message.role !== "assistant") return own;
  for (const part of message.parts) {
    const metadata =
      "callProviderMetadata" in part
        ? part.callProviderMetadata
        : "providerMetadata" in part
          ? part.providerMetadata
          : null;
    if (typeof metadata !== "object" || metadata === null) continue;
    for (const provider of Object.values(metadata)) {
      const found = firstString(provider, ["messageId", "responseId", "itemId"]);
      if (found !== null) return found;
    }
  }
  return null;
}

function firstString(value: unknown, keys: readonly string[]): string | null {
  if (typeof value !== "object" || value === null) return null;
  const found = keys
    .map((key) => (value as Record<string, unknown>)[key])
    .find((each) => typeof each === "string" && each !== "");
  return (found as string | undefined) ?? null;
}
