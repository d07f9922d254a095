/**
 * What a message weighs and which tool calls tie it to others: all that planning needs to know of it.
 *
 * Job: read one message once, when it is stored. Boundary: no other message is looked at; pairing calls with results
 * is the planner's, by id.
 *
 * Calls and results: a tool part without a result is a *call*; one with a result is a *result*. A call and its result
 * in one part need nothing else, so such a part constrains the planner only where an earlier part with the same id is
 * still waiting for it (the shape of imported histories, with call and result in separate messages).
 *
 * Group: the id that a provider gave to one reply, which may have been stored as several rows. Looked for in
 * `metadata.providerMessageId`, `metadata.responseId`, then in any part's provider metadata (`messageId`,
 * `responseId`, `itemId`).
 */
import type { FileUIPart, UIMessage } from "ai";
import { IMAGE_TOKENS, MAX_NAME_CHARS, MESSAGE_OVERHEAD_TOKENS } from "../../limits.ts";
import { imageTokens } from "../tokens/image-tokens.ts";
import { messageSteps } from "./slice.ts";
import { fieldText, hasResult, innerParts, jsonText, toolName, toolPart, type Part } from "./tool-parts.ts";

/** Tokens around a tool call with its result: the provider's own wrapping of names, ids and JSON. */
export const TOOL_OVERHEAD_TOKENS = 60;

/** Bytes of a file per estimated token. */
const FILE_BYTES_PER_TOKEN = 4;

/** Most tokens that a file other than an image is counted as: beyond it, providers reject or summarise the file. */
export const MAX_FILE_TOKENS = 20_000;

/** Tokens of a text, a whole number: a session has one for everything (agent/token-counter.ts), the estimate or its own. */
export type CountTokens = (text: string) => number;

/** A tool call id and the step that holds it. */
type CallPlace = readonly [id: string, step: number];

export interface Measure {
  /** Estimated tokens of the message: the sum of `steps`. */
  readonly tokens: number;
  /** Estimated tokens of each step, at least one. */
  readonly steps: readonly number[];
  /** Tool parts that wait for a result. */
  readonly calls: readonly CallPlace[];
  /** Tool parts that have one. */
  readonly results: readonly CallPlace[];
  /** Steps that hold a text which is not blank: reasoning, calls, files and data are none. */
  readonly texts: readonly number[];
  /** Tools by name, answered or not, each with the first step that uses it. */
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

/** Estimated tokens of one part as the model is sent it: parts that are only for the page (data, sources) cost nothing. */
function partTokens(part: Part, count: CountTokens): number {
  const tool = toolPart(part);
  if (tool !== null) {
    return (
      TOOL_OVERHEAD_TOKENS +
      count(`${toolName(tool)}${jsonText(tool.input)}`) +
      count(jsonText(tool.errorText ?? tool.output))
    );
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

/** Estimated tokens of a file, by its size: no counter of texts knows it. */
export function fileTokens(part: Pick<FileUIPart, "mediaType" | "url">): number {
  const url = fieldText(part.url);
  if (fieldText(part.mediaType).startsWith("image")) return imageTokens(url);
  const bytes = fileBytes(url);
  if (bytes === null) return IMAGE_TOKENS;
  return Math.min(MAX_FILE_TOKENS, Math.ceil(bytes / FILE_BYTES_PER_TOKEN));
}

/** Bytes inside a data URL; null when the file is elsewhere and its size unknown. */
export function fileBytes(url: string): number | null {
  if (!url.startsWith("data:")) return null;
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
