/**
 * Messages with content blocks for the Anthropic Messages API.
 *
 * The API has strict rules. System texts stand beside the messages, and roles alternate. Results come first in the message after their
 * calls. No text is empty, and ids consist of letters, digits, `_` and `-`. Thinking needs the signature that it came with.
 */
import { anthropicMessage } from "../../import/anthropic.ts";
import type { ImportedTurn } from "../../import/turns.ts";
import {
  base64Of,
  fileNote,
  parseTurns,
  reasoningNote,
  toExchanges,
  turnsToMessages,
  type Exchange,
  type File,
  type ModelFormatAdapter,
} from "./adapter.ts";

/** A prompt of Anthropic's Messages API. */
export interface AnthropicPrompt {
  /** Null when there is none. */
  readonly system: string | null;
  /** The conversation behind the system prompt. */
  readonly messages: AnthropicMessage[];
}

export interface AnthropicMessage {
  readonly role: "user" | "assistant";
  readonly content: string | AnthropicBlock[];
}

type MediaSource = { type: "base64"; media_type: string; data: string } | { type: "url"; url: string };

export type AnthropicBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: MediaSource }
  | { type: "document"; source: MediaSource; title?: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: object }
  | { type: "tool_result"; tool_use_id: string; content: string; is_error?: true };

/** Messages of Anthropic's Messages API. */
export const anthropicAdapter: ModelFormatAdapter<AnthropicPrompt> = {
  name: "anthropic",
  async toModel(messages) {
    const exchanges = await toExchanges(messages);
    const system = exchanges.flatMap((exchange) => (exchange.role === "system" ? [exchange.text] : [])).join("\n\n");
    const turns: { role: "user" | "assistant"; content: AnthropicBlock[] }[] = [];
    for (const exchange of exchanges) {
      const role = exchange.role === "assistant" ? "assistant" : "user";
      const content = blocksOf(exchange);
      const last = turns.at(-1);
      if (content.length === 0) continue;
      if (last?.role === role) last.content.push(...content);
      else turns.push({ role, content });
    }
    return { system: system === "" ? null : system, messages: turns };
  },
  fromModel({ system, messages }, newId) {
    const turns = parseTurns(anthropicMessage, messages, "the Anthropic Messages API");
    const first: ImportedTurn[] =
      system === null ? [] : parseTurns(anthropicMessage, [{ role: "system", content: system }], "text");
    return turnsToMessages([...first, ...turns], newId);
  },
};

function blocksOf(exchange: Exchange): AnthropicBlock[] {
  if (exchange.role === "system") return [];
  if (exchange.role === "user") {
    return exchange.content.flatMap((part) => (part.kind === "text" ? textBlock(part.text) : fileBlock(part)));
  }
  if (exchange.role === "tool") {
    return exchange.results.map(({ callId, text, failed }) => {
      return { type: "tool_result", tool_use_id: safeId(callId), content: text, ...(failed && { is_error: true }) };
    });
  }
  return exchange.content.flatMap((part): AnthropicBlock[] => {
    if (part.kind === "text") return textBlock(part.text);
    // An assistant's message has no block for a reply's own files.
    if (part.kind === "file") return textBlock(fileNote(part));
    if (part.kind === "reasoning") return thinkingBlock(part.text, part.options["anthropic"] ?? {});
    return [{ type: "tool_use", id: safeId(part.callId), name: part.toolName, input: asObject(part.input) }];
  });
}

function textBlock(text: string): AnthropicBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

function thinkingBlock(thinking: string, options: Record<string, unknown>): AnthropicBlock[] {
  const { signature, redactedData: data } = options;
  if (typeof data === "string") return [{ type: "redacted_thinking", data }];
  return typeof signature === "string"
    ? [{ type: "thinking", thinking, signature }]
    : textBlock(reasoningNote(thinking) ?? "");
}

function fileBlock(file: File): AnthropicBlock[] {
  const type = file.mediaType.startsWith("image") ? "image" : file.mediaType === "application/pdf" ? "document" : null;
  const bytes = file.url === null ? null : base64Of(file.url);
  if (type === null || file.url === null || (bytes === null && file.url.startsWith("data:"))) {
    return [{ type: "text", text: fileNote(file) }];
  }
  const source: MediaSource =
    bytes === null ? { type: "url", url: file.url } : { type: "base64", media_type: bytes.mediaType, data: bytes.data };
  return [{ type, source }];
}

/** Repair told apart calls of several turns that shared one id. Its mark is not allowed here. */
function safeId(id: string): string {
  return id.replaceAll(/[^\w-]/g, "_");
}

/** Arguments that a model broke off are text, but the API takes only objects. */
function asObject(input: unknown): object {
  return typeof input === "object" && input !== null && !Array.isArray(input) ? input : { input: input ?? null };
}
