/**
 * The formats of providers, each as an adapter from messages to a prompt and from a reply to messages. No adapter makes a request.
 *
 * Messages are repaired before they are sent, so each call has exactly one result for any history (V2). What a format cannot carry is named in a
 * line in brackets. A reply is read by the readers of transcripts.
 */
import { convertToModelMessages, modelMessageSchema, type ModelMessage, type UIMessage } from "ai";
import { z } from "zod";
import { PalimpsestError, unreachable } from "../errors.ts";
import { anthropicMessage } from "../import/formats/anthropic.ts";
import { openAiMessage } from "../import/formats/openai.ts";
import { attempt, Fields, isRecord, Misfit } from "../import/items.ts";
import { textPart, type ImportedTurn, type ToolResult } from "../import/turns.ts";
import { jsonText, toolPart, type Part, type ToolPart } from "../steps/message/message.ts";
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
    const system = exchanges.flatMap(({ role, content }) =>
      role === "system" ? content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    );
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

/**
 * Results come back as values where they are text or JSON. An approval belongs to its call's part, regardless of the message that asks for
 * it or gives it.
 */
export const aiSdkAdapter: ModelFormatAdapter<ModelMessage[]> = {
  name: "ai-sdk",
  toModel: toModelMessages,
  fromModel(messages, newId) {
    const parsed = z.array(modelMessageSchema).safeParse(messages);
    if (!parsed.success) {
      throw new PalimpsestError(
        "invalid_input",
        `These are no messages of the AI SDK:\n${z.prettifyError(parsed.error)}`,
      );
    }
    const known: UIMessage[] = [];
    // The messages are checked and then used unchanged. zod's result lacks provider keys that zod considers unsafe.
    for (const message of messages) {
      const read = messageOf(message, { id: newId(), known });
      if (read !== null) known.push(read);
    }
    return known;
  },
};

// ── to a model ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Content = Exclude<ModelMessage["content"], string>[number];
type ContentOf<Type> = Extract<Content, { type: Type }>;
type FileContent = ContentOf<"file">;
/** What any of the formats carries, if only as a note. The SDK gives a picture as a file, too. */
type Sent = ContentOf<"text" | "reasoning" | "tool-call" | "tool-result" | "file">;

/** One message of a prompt. Results stand in messages of their own, whoever ran the tool. */
interface Exchange {
  readonly role: ModelMessage["role"];
  readonly content: readonly Sent[];
}

/** Leaves out messages without content for a model (data parts only), because providers refuse empty messages. */
async function toModelMessages(messages: readonly UIMessage[]): Promise<ModelMessage[]> {
  const converted = await convertToModelMessages(inTurns(repairMessages([...messages]), { keepsSystem: true }));
  return converted.filter((message) => message.content.length > 0);
}

/** Results follow their calls, and stand in the order of these. */
async function toExchanges(messages: readonly UIMessage[]): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  let calls: string[] = [];
  for (const { role, content } of await toModelMessages(messages)) {
    const parts = contentsOf(content).filter(isSent);
    const results = parts.filter((part) => part.type === "tool-result");
    const said = parts.filter((part) => part.type !== "tool-result" && !(role === "user" && isEmpty(part)));
    if (role === "assistant") calls = said.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    if (said.length > 0) exchanges.push({ role, content: said });
    if (results.length === 0) continue;
    const known = exchanges.at(-1)?.role === "tool" ? (exchanges.pop()?.content as ContentOf<"tool-result">[]) : [];
    const order = ({ toolCallId }: ContentOf<"tool-result">): number => calls.indexOf(toolCallId);
    exchanges.push({ role: "tool", content: [...known, ...results].toSorted((a, b) => order(a) - order(b)) });
  }
  return exchanges;
}

function contentsOf(content: ModelMessage["content"]): readonly Content[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function isSent(part: Content): part is Sent {
  return ["text", "reasoning", "tool-call", "tool-result", "file"].includes(part.type);
}

function isEmpty(part: Sent): boolean {
  return part.type === "text" && part.text === "";
}

function isFailed({ output }: ContentOf<"tool-result">): boolean {
  return output.type === "error-text" || output.type === "error-json" || output.type === "execution-denied";
}

function outputText({ output }: ContentOf<"tool-result">): string {
  return output.type === "execution-denied" ? (output.reason ?? DENIED) : jsonText(output.value);
}

const DENIED = "The call was refused.";

/** What a format says of a file that it does not carry. Its address is null when only the provider that holds it can use its name. */
function fileNote({ data, mediaType, filename }: FileContent): string {
  const url = urlOf(data, mediaType);
  const address = url === null || url.startsWith("data:") ? "" : ` at ${url}`;
  return `[File ${filename || "without a name"} (${mediaType})${address}: not sent, this model does not take it]`;
}

/** The same of reasoning. Empty reasoning (a provider's encrypted reasoning) needs no note. */
function reasoningNote(text: string): string {
  return text.trim() === "" ? "" : `[Reasoning of ${text.length} characters: not sent, this model does not take it]`;
}

function anthropicBlocks({ role, content }: Exchange): AnthropicBlock[] {
  if (role === "system") return [];
  return content.flatMap((part): AnthropicBlock[] => {
    if (part.type === "text") return textBlock(part.text);
    if (part.type === "reasoning") return thinkingBlock(part.text, part.providerOptions?.["anthropic"] ?? {});
    // An assistant's message has no block for a reply's own files.
    if (part.type === "file") return role === "user" ? fileBlock(part) : textBlock(fileNote(part));
    // Repair told apart calls of several turns that shared one id. Its mark is not allowed here.
    const id = part.toolCallId.replaceAll(/[^\w-]/g, "_");
    if (part.type === "tool-result") {
      return [
        { type: "tool_result", tool_use_id: id, content: outputText(part), ...(isFailed(part) && { is_error: true }) },
      ];
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

function fileBlock(part: FileContent): AnthropicBlock[] {
  const { mediaType } = part;
  const url = urlOf(part.data, mediaType);
  const type = mediaType.startsWith("image") ? "image" : mediaType === "application/pdf" ? "document" : null;
  const [, media_type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url ?? "") ?? [];
  if (type === null || url === null || (data === undefined && url.startsWith("data:")))
    return textBlock(fileNote(part));
  if (media_type === undefined || data === undefined) return [{ type, source: { type: "url", url } }];
  return [{ type, source: { type: "base64", media_type, data } }];
}

function chatMessages({ role, content }: Exchange, isWorkersAi: boolean): WorkersAiMessage[] {
  if (role === "assistant") return assistantMessage(content, isWorkersAi);
  if (role === "user") return [userMessage(content, isWorkersAi)];
  return content.flatMap((part): WorkersAiMessage[] => {
    if (part.type === "text") return [{ role: "system", content: part.text }];
    if (part.type !== "tool-result") return [];
    const named = isWorkersAi && { name: part.toolName };
    return [{ role: "tool", tool_call_id: part.toolCallId, content: outputText(part), ...named }];
  });
}

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];

function userMessage(content: readonly Sent[], isWorkersAi: boolean): ChatMessage {
  const parts = content.flatMap((part): UserPart[] => {
    if (part.type === "text") return [textPart(part.text) as UserPart];
    if (part.type !== "file") return [];
    const { mediaType, filename } = part;
    const url = urlOf(part.data, mediaType);
    if (url !== null && mediaType.startsWith("image")) return [{ type: "image_url", image_url: { url } }];
    if (isWorkersAi || url?.startsWith("data:") !== true) return [textPart(fileNote(part)) as UserPart];
    return [{ type: "file", file: { file_data: url, filename: filename || "file" } }];
  });
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : []));
  const plain = texts.length === parts.length && (isWorkersAi || parts.length === 1);
  return { role: "user", content: plain ? texts.join("\n") : parts };
}

function assistantMessage(content: readonly Sent[], isWorkersAi: boolean): WorkersAiMessage[] {
  const calls = content.filter((part) => part.type === "tool-call");
  const tool_calls = calls.map(({ toolCallId: id, toolName: name, input }) => {
    return { id, type: "function" as const, function: { name, arguments: JSON.stringify(input ?? {}) } };
  });
  const thoughts = content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("");
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
function replyText(content: readonly Sent[], note: string): string {
  const lines = [note];
  let isOpen = false;
  for (const part of content) {
    if (part.type !== "text" && part.type !== "file") continue;
    const text = part.type === "text" ? part.text : fileNote(part);
    if (part.type === "text" && isOpen) lines.push(`${lines.pop() ?? ""}${text}`);
    else lines.push(text);
    isOpen = part.type === "text";
  }
  return lines.filter((line) => line !== "").join("\n");
}

// ── from a model ────────────────────────────────────────────────────────────────────────────────────────────────────

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
function resultPart({ callId: toolCallId, toolName, ...came }: Omit<ToolResult, "type">): Part {
  return { type: "dynamic-tool", toolName: toolName ?? "tool", toolCallId, input: undefined, ...cameOf(came) };
}

function cameOf({ output, failed }: Pick<ToolResult, "output" | "failed">) {
  if (failed) return { state: "output-error" as const, errorText: jsonText(output) };
  return { state: "output-available" as const, output };
}

/** Returns null for a message without content of its own. Its statements about a call go into that call. */
function messageOf(
  { role, content }: ModelMessage,
  { id, known }: { id: string; known: readonly UIMessage[] },
): UIMessage | null {
  const parts: Part[] = [];
  const lists = [...known.map((message) => message.parts), parts];
  const contents = contentsOf(content);
  for (const each of contents) {
    if (each.type === "tool-approval-request") askApproval(lists, each);
    else if (each.type === "tool-approval-response") answerApproval(lists, each);
    else if (each.type !== "tool-result") parts.push(...partOf(each));
    else if (!isDenied(lists, each)) addResult(parts, each);
  }
  const isOnlyOfCalls = role === "tool" && contents.length > 0 && parts.length === 0;
  return isOnlyOfCalls ? null : { id, role: role === "tool" ? "assistant" : role, parts };
}

/** Changes the newest matching tool part in any message. */
function changeCall(lists: readonly Part[][], which: (part: ToolPart) => boolean, change: (part: ToolPart) => object) {
  for (const parts of lists.toReversed()) {
    const at = parts.findLastIndex((part) => {
      const tool = toolPart(part);
      return tool !== null && which(tool);
    });
    if (at < 0) continue;
    const part = parts[at] as ToolPart;
    parts[at] = { ...part, ...change(part) } as Part;
    return;
  }
}

function askApproval(lists: readonly Part[][], request: ContentOf<"tool-approval-request">): void {
  const { type: _type, approvalId: id, toolCallId, reason: requestReason, ...more } = request;
  const said = Object.fromEntries(
    Object.entries({ ...more, requestReason }).filter(([, value]) => value !== undefined),
  );
  changeCall(
    lists,
    (part) => part.toolCallId === toolCallId,
    () => ({ state: "approval-requested", approval: { ...said, id } }),
  );
}

function answerApproval(lists: readonly Part[][], response: ContentOf<"tool-approval-response">): void {
  const { approvalId, approved, reason } = response;
  changeCall(
    lists,
    (part) => part.state === "approval-requested" && part.approval.id === approvalId,
    ({ approval }) => {
      const answered = { ...approval, approved, ...(reason !== undefined && { reason }) };
      return { state: "approval-responded", approval: answered };
    },
  );
}

/** True when a result only repeats that its call was refused. */
function isDenied(lists: readonly Part[][], { toolCallId, output }: ContentOf<"tool-result">): boolean {
  if (output.type !== "execution-denied") return false;
  return lists.flat().some((part) => {
    const tool = toolPart(part);
    return tool?.toolCallId === toolCallId && tool.state === "approval-responded" && !tool.approval.approved;
  });
}

function partOf(
  part: Exclude<Content, { type: `tool-${"result" | "approval-request" | "approval-response"}` }>,
): Part[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text, ...metadataOf(part) }];
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...metadataOf(part) }];
    case "custom":
      return [{ type: "custom", kind: part.kind, ...metadataOf(part) }];
    case "image":
      return [filePart({ ...part, mediaType: part.mediaType ?? "image", data: part.image })];
    case "file":
      return [filePart(part)];
    case "reasoning-file": {
      const { type, mediaType, data } = part;
      return [{ type, mediaType, url: urlOf(data, mediaType) ?? "", ...metadataOf(part) }];
    }
    case "tool-call": {
      const { toolCallId, toolName, input, providerExecuted, providerOptions } = part;
      const call = { type: "dynamic-tool" as const, toolName, toolCallId, state: "input-available" as const, input };
      const ran = providerExecuted === undefined ? {} : { providerExecuted };
      return [{ ...call, ...ran, ...(providerOptions && { callProviderMetadata: providerOptions }) }];
    }
    default:
      return unreachable(part);
  }
}

/** The result of a tool that the provider ran goes into the message of its call, with options of its own. */
function addResult(parts: Part[], part: ContentOf<"tool-result">): void {
  const { toolCallId, toolName, output, providerOptions } = part;
  const value = output.type === "execution-denied" ? (output.reason ?? DENIED) : output.value;
  const result = resultPart({ callId: toolCallId, toolName, output: value, failed: isFailed(part) });
  const at = parts.findLastIndex((each) => toolPart(each)?.toolCallId === toolCallId);
  if (at < 0) {
    parts.push(result);
    return;
  }
  const { input: _none, ...answer } = result as Extract<Part, { type: "dynamic-tool" }>;
  const options = providerOptions && { resultProviderMetadata: providerOptions };
  parts[at] = { ...parts[at], ...answer, ...options } as Part;
}

/** Options of a part are returned unchanged, because the provider wants them back. */
function metadataOf({ providerOptions }: Pick<ContentOf<"text">, "providerOptions">) {
  return providerOptions === undefined ? {} : { providerMetadata: providerOptions };
}

function filePart({
  data,
  mediaType,
  filename,
  ...rest
}: Pick<ContentOf<"file">, "mediaType" | "filename" | "providerOptions"> & { readonly data: unknown }): Part {
  const url = urlOf(data, mediaType);
  const named = filename === undefined ? {} : { filename };
  const reference = url === null ? { providerReference: referenceOf(data) } : {};
  return { type: "file", mediaType, url: url ?? "", ...named, ...reference, ...metadataOf(rest) };
}

/** Returns the address of a file in any form that the SDK accepts, or null for a provider's own reference. */
function urlOf(data: unknown, mediaType: string): string | null {
  if (data instanceof URL) return data.href;
  if (typeof data === "string") return /^(?:https?|data):/.test(data) ? data : `data:${mediaType};base64,${data}`;
  if (data instanceof ArrayBuffer) return urlOf(new Uint8Array(data), mediaType);
  if (data instanceof Uint8Array) return `data:${mediaType};base64,${base64(data)}`;
  const tagged = data as { type?: string; url?: URL; data?: unknown; text?: string };
  if (tagged.type === "url") return tagged.url?.href ?? null;
  if (tagged.type === "text") return `data:${mediaType},${encodeURIComponent(tagged.text ?? "")}`;
  return tagged.type === "data" ? urlOf(tagged.data, mediaType) : null;
}

function referenceOf(data: unknown): Record<string, string> {
  const { reference } = data as { reference?: Record<string, string> };
  return reference ?? (data as Record<string, string>);
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
