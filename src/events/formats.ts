/**
 * The formats of providers, each as an adapter from messages to a prompt and from a reply to messages. No adapter makes a request.
 *
 * Messages are repaired before they are sent, so each call has exactly one result for any history (V2). What a format cannot carry is named in a
 * line in brackets. A reply is read by the readers of transcripts.
 */
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { anthropicMessage } from "../import/formats/anthropic.ts";
import { openAiMessage } from "../import/formats/openai.ts";
import { attempt, Fields, isRecord, Misfit } from "../import/items.ts";
import { textPart, type ImportedTurn, type ToolResult } from "../import/turns.ts";
import { jsonText, type Part } from "../steps/message/message.ts";
import { repairMessages } from "../steps/view/repair.ts";
import { inTurns } from "../steps/view/turns.ts";

/** `Prompt` is a conversation in a request of the format. */
export interface ModelFormatAdapter<Prompt> {
  /** The name of the format. */
  readonly name: string;
  /** Returns the messages as a model receives them, with every tool call paired with its result. */
  toModel(messages: readonly UIMessage[]): Promise<Prompt>;
  /**
   * Reads messages of the format, such as a model's reply or a tool's results, each into messages of its own. A result finds its call when
   * both are read together. Ids come from `newId`. Throws `invalid_input` that names the problem.
   */
  fromModel(prompt: Prompt, newId: () => string): UIMessage[];
}

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

/** The platform's type for the chat-completions models of Workers AI. */
export type ChatMessage = ChatCompletionMessageParam;

/** A message for `env.AI.run`, which also takes the model's own reasoning and the tool name of a result. */
export type WorkersAiMessage = ChatMessage & { reasoning?: string };

/**
 * Messages of Anthropic's Messages API. Its rules are strict: system texts stand beside the messages, roles alternate, and results come first in
 * the message after their calls. No text is empty, ids consist of letters, digits, `_` and `-`, and thinking needs its signature.
 */
export const anthropicAdapter: ModelFormatAdapter<AnthropicPrompt> = {
  name: "anthropic",
  async toModel(messages) {
    const exchanges = await toExchanges(messages);
    const system = exchanges.flatMap(({ role, content }) => (role === "system" ? content.map(({ text }) => text) : []));
    const turns: { role: "user" | "assistant"; content: AnthropicBlock[] }[] = [];
    for (const exchange of exchanges) {
      const role = exchange.role === "assistant" ? "assistant" : "user";
      const content = anthropicBlocks(exchange);
      const last = turns.at(-1);
      if (content.length === 0) continue;
      if (last?.role === role) last.content.push(...content);
      else turns.push({ role, content });
    }
    return { system: system.length === 0 ? null : system.join("\n\n"), messages: turns };
  },
  fromModel({ system, messages }, newId) {
    const first = system === null ? [] : [{ role: "system", content: system }];
    return readReply(anthropicMessage, [...first, ...messages], { newId, format: "the Anthropic Messages API" });
  },
};

/** Messages of OpenAI's chat completions. */
export const openAiAdapter: ModelFormatAdapter<ChatMessage[]> = {
  name: "openai",
  toModel: async (messages) => (await toExchanges(messages)).flatMap((exchange) => chatMessages(exchange, false)),
  fromModel: (messages, newId) => readReply(openAiMessage, messages, { newId, format: "OpenAI chat completions" }),
};

/**
 * Messages of Workers AI's chat models. They take only images as files and want text as a string where possible. They also take the tool's name
 * with a result, and a model's own reasoning.
 */
export const workersAiAdapter: ModelFormatAdapter<WorkersAiMessage[]> = {
  name: "workers-ai",
  toModel: async (messages) => (await toExchanges(messages)).flatMap((exchange) => chatMessages(exchange, true)),
  fromModel(messages, newId) {
    const known = messages.map(({ reasoning, ...message }) =>
      reasoning === undefined ? message : { ...message, reasoning_content: reasoning },
    );
    return readReply(openAiMessage, known, { newId, format: "Workers AI chat completions" });
  },
};

/** A prompt's message without the details of one format. Results follow their calls, regardless of who ran the tool. */
interface Exchange {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: readonly Content[];
}

/** Every kind has a text: of a file it is its name and address, and of a call its input. */
type Content = { readonly text: string } & (
  | { readonly kind: "text" }
  /** `options` are keyed by provider, as the AI SDK keeps them. */
  | { readonly kind: "reasoning"; readonly options: Readonly<Record<string, Readonly<Record<string, unknown>>>> }
  /** The address is null when only the provider that holds the file can use its name. */
  | { readonly kind: "file"; readonly mediaType: string; readonly filename: string | null; readonly url: string | null }
  | { readonly kind: "call"; readonly callId: string; readonly toolName: string; readonly input: unknown }
  | { readonly kind: "result"; readonly callId: string; readonly toolName: string; readonly failed: boolean }
);
type ContentOf<Kind> = Extract<Content, { kind: Kind }>;

/** Leaves out messages without content for a model (data parts only), because providers refuse empty messages. */
export async function toModelMessages(messages: readonly UIMessage[]): Promise<ModelMessage[]> {
  const converted = await convertToModelMessages(inTurns(repairMessages([...messages]), { keepsSystem: true }));
  return converted.filter((message) => message.content.length > 0);
}

async function toExchanges(messages: readonly UIMessage[]): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  /** Call ids of the last reply, in order. */
  let calls: string[] = [];
  for (const { role, content } of await toModelMessages(messages)) {
    const parts = typeof content === "string" ? [{ kind: "text" as const, text: content }] : content.flatMap(contentOf);
    const said = parts.filter((part) => part.kind !== "result" && (role !== "user" || part.text !== ""));
    if (role === "assistant") calls = said.flatMap((part) => (part.kind === "call" ? [part.callId] : []));
    if (said.length > 0) exchanges.push({ role, content: said });
    const results = parts.filter((part) => part.kind === "result");
    if (results.length === 0) continue;
    const known = exchanges.at(-1)?.role === "tool" ? (exchanges.pop()?.content as ContentOf<"result">[]) : [];
    const place = ({ callId }: ContentOf<"result">): number => calls.indexOf(callId);
    exchanges.push({ role: "tool", content: [...known, ...results].toSorted((a, b) => place(a) - place(b)) });
  }
  return exchanges;
}

type ModelContent = Exclude<ModelMessage["content"], string>[number];
type ResultPart = Extract<ModelContent, { type: "tool-result" }>;

function contentOf(part: ModelContent): Content[] {
  if (part.type === "text") return [{ kind: "text", text: part.text }];
  if (part.type === "reasoning") return [{ kind: "reasoning", text: part.text, options: part.providerOptions ?? {} }];
  if (part.type === "tool-call") {
    return [{ kind: "call", text: "", callId: part.toolCallId, toolName: part.toolName, input: part.input }];
  }
  if (part.type === "tool-result") {
    const { toolCallId: callId, toolName, output } = part;
    const failed = output.type === "error-text" || output.type === "error-json" || output.type === "execution-denied";
    return [{ kind: "result", text: outputText(output), callId, toolName, failed }];
  }
  if (part.type !== "file" && part.type !== "image") return [];
  const data: unknown = part.type === "file" ? part.data : null;
  const url = isRecord(data) && data["url"] instanceof URL ? data["url"].href : null;
  const filename = (part.type === "file" && part.filename) || null;
  const mediaType = part.mediaType ?? "image";
  const address = url === null || url.startsWith("data:") ? "" : ` at ${url}`;
  const text = `[File ${filename ?? "without a name"} (${mediaType})${address}: not sent, this model does not take it]`;
  return [{ kind: "file", text, mediaType, filename, url }];
}

function outputText(output: ResultPart["output"]): string {
  if (output.type === "execution-denied") return output.reason ?? "The call was refused.";
  if (output.type !== "content") return jsonText(output.value);
  return output.value.map((part) => (part.type === "text" ? part.text : jsonText(part))).join("\n");
}

/** A note for reasoning in a format that cannot carry it. Empty reasoning (a provider's encrypted reasoning) needs no note. */
function reasoningNote(text: string): string {
  return text.trim() === "" ? "" : `[Reasoning of ${text.length} characters: not sent, this model does not take it]`;
}

function anthropicBlocks({ role, content }: Exchange): AnthropicBlock[] {
  if (role === "system") return [];
  return content.flatMap((part): AnthropicBlock[] => {
    if (part.kind === "text") return textBlock(part.text);
    // An assistant's message has no block for a reply's own files.
    if (part.kind === "file") return role === "user" ? fileBlock(part) : textBlock(part.text);
    if (part.kind === "reasoning") return thinkingBlock(part.text, part.options["anthropic"] ?? {});
    // Repair told apart calls of several turns that shared one id. Its mark is not allowed here.
    const id = part.callId.replaceAll(/[^\w-]/g, "_");
    if (part.kind === "result") {
      return [{ type: "tool_result", tool_use_id: id, content: part.text, ...(part.failed && { is_error: true }) }];
    }
    // Arguments that a model broke off are text, but the API takes only objects.
    const input = isRecord(part.input) ? part.input : { input: part.input ?? null };
    return [{ type: "tool_use", id, name: part.toolName, input }];
  });
}

function textBlock(text: string): AnthropicBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

function thinkingBlock(
  thinking: string,
  { signature, redactedData: data }: Readonly<Record<string, unknown>>,
): AnthropicBlock[] {
  if (typeof data === "string") return [{ type: "redacted_thinking", data }];
  return typeof signature === "string"
    ? [{ type: "thinking", thinking, signature }]
    : textBlock(reasoningNote(thinking));
}

function fileBlock({ text, mediaType, url }: ContentOf<"file">): AnthropicBlock[] {
  const type = mediaType.startsWith("image") ? "image" : mediaType === "application/pdf" ? "document" : null;
  const [, media_type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url ?? "") ?? [];
  if (type === null || url === null || (data === undefined && url.startsWith("data:"))) return textBlock(text);
  if (media_type === undefined || data === undefined) return [{ type, source: { type: "url", url } }];
  return [{ type, source: { type: "base64", media_type, data } }];
}

function chatMessages({ role, content }: Exchange, isWorkersAi: boolean): WorkersAiMessage[] {
  if (role === "assistant") return assistantMessage(content, isWorkersAi);
  if (role === "user") return [userMessage(content, isWorkersAi)];
  return content.map((part): WorkersAiMessage => {
    if (part.kind !== "result") return { role: "system", content: part.text };
    const named = isWorkersAi && { name: part.toolName };
    return { role: "tool", tool_call_id: part.callId, content: part.text, ...named };
  });
}

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];

function userMessage(content: readonly Content[], isWorkersAi: boolean): ChatMessage {
  const parts = content.map((part): UserPart => {
    if (part.kind !== "file" || part.url === null) return textPart(part.text) as UserPart;
    if (part.mediaType.startsWith("image")) return { type: "image_url", image_url: { url: part.url } };
    if (isWorkersAi || !part.url.startsWith("data:")) return textPart(part.text) as UserPart;
    return { type: "file", file: { file_data: part.url, filename: part.filename ?? "file" } };
  });
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : []));
  const plain = texts.length === parts.length && (isWorkersAi || parts.length === 1);
  return { role: "user", content: plain ? texts.join("\n") : parts };
}

function assistantMessage(content: readonly Content[], isWorkersAi: boolean): WorkersAiMessage[] {
  const calls = content.filter((part) => part.kind === "call");
  const tool_calls = calls.map(({ callId: id, toolName: name, input }) => {
    return { id, type: "function" as const, function: { name, arguments: JSON.stringify(input ?? {}) } };
  });
  const thoughts = content.flatMap((part) => (part.kind === "reasoning" ? [part.text] : [])).join("");
  const text = replyText(content, isWorkersAi ? "" : reasoningNote(thoughts));
  const reasoning = isWorkersAi ? thoughts : "";
  if (text === "" && reasoning === "" && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: text === "" && !isWorkersAi ? null : text,
      ...(reasoning !== "" && { reasoning }),
      ...(calls.length > 0 && { tool_calls }),
    },
  ];
}

/** Returns the text of a reply, with a note for content that no reply may carry. Adjacent texts are joined. */
function replyText(content: readonly Content[], note: string): string {
  const lines = [note];
  let isOpen = false;
  for (const part of content) {
    if (part.kind !== "text" && part.kind !== "file") continue;
    if (part.kind === "text" && isOpen) lines.push(`${lines.pop() ?? ""}${part.text}`);
    else lines.push(part.text);
    isOpen = part.kind === "text";
  }
  return lines.filter((line) => line !== "").join("\n");
}

interface Reading {
  readonly newId: () => string;
  /** The format's name in an error. */
  readonly format: string;
}

/** Makes one message of what each value says itself, and one of its results. Throws `invalid_input`. */
function readReply(
  read: (value: Fields) => ImportedTurn,
  values: readonly unknown[],
  { newId, format }: Reading,
): UIMessage[] {
  const names = new Map<string, string>();
  return values.flatMap((value, at) => {
    const turn = attempt(() => read(new Fields(value, String(at))));
    if (turn instanceof Misfit) {
      throw new PalimpsestError("invalid_input", `These are no messages of ${format}:\n${turn.message}`);
    }
    const results = turn.pieces.filter((piece) => piece.type === "result");
    const parts = saidParts(turn, names);
    const answers = results.map((result) =>
      resultPart({ ...result, toolName: result.toolName ?? names.get(result.callId) ?? null }),
    );
    const messages: UIMessage[] = results.length === 0 ? [] : [{ id: newId(), role: "assistant", parts: answers }];
    if (turn.role === null || (parts.length === 0 && results.length > 0)) return messages;
    return [...messages, { id: newId(), role: turn.role, parts }];
  });
}

/** The parts that are no results. A tool's name of a later result comes from its call. */
function saidParts({ pieces }: ImportedTurn, names: Map<string, string>): Part[] {
  return pieces.flatMap((piece): Part[] => {
    if (piece.type === "result") return [];
    if (piece.type !== "call") return [piece];
    const { callId, toolName, input, providerExecuted, settled } = piece;
    const toolCallId = callId ?? `call-${names.size + 1}`;
    names.set(toolCallId, toolName);
    const call = { type: "dynamic-tool" as const, toolName, toolCallId, ...(providerExecuted && { providerExecuted }) };
    return [
      settled === undefined ? { ...call, state: "input-available", input } : { ...call, input, ...cameOf(settled) },
    ];
  });
}

/** A result apart from its call is a part without input (see steps/message/message.ts). */
export function resultPart({ callId: toolCallId, toolName, ...came }: Omit<ToolResult, "type">): Part {
  return { type: "dynamic-tool", toolName: toolName ?? "tool", toolCallId, input: undefined, ...cameOf(came) };
}

function cameOf({ output, failed }: Pick<ToolResult, "output" | "failed">) {
  if (failed) return { state: "output-error" as const, errorText: jsonText(output) };
  return { state: "output-available" as const, output };
}
