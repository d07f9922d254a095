/**
 * Chat-completions messages for OpenAI and compatible providers, and for Workers AI.
 *
 * The two differ beyond text. Workers AI takes only images as files and wants string content where possible. It also takes the tool's name
 * with a result, and a reasoning model's own reasoning. Neither can mark a result as an error.
 */
import type { UIMessage } from "ai";
import { openAiMessage } from "../../import/openai.ts";
import {
  fileNote,
  parseTurns,
  reasoningNote,
  toExchanges,
  turnsToMessages,
  type Exchange,
  type File,
  type ModelFormatAdapter,
} from "./adapter.ts";

/** The platform's type for the chat-completions models of Workers AI. */
export type ChatMessage = ChatCompletionMessageParam;

/** A message for `env.AI.run`, which also takes the model's own reasoning and the tool name of a result. */
export type WorkersAiMessage = ChatMessage & { reasoning?: string };

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];

/** Messages of OpenAI's chat completions. */
export const openAiAdapter: ModelFormatAdapter<ChatMessage[]> = {
  name: "openai",
  async toModel(messages) {
    return (await toExchanges(messages)).flatMap((exchange) => chatMessages(exchange, { file: openAiFile }));
  },
  fromModel: (messages, newId) => readChat(messages, newId, "OpenAI chat completions"),
};

/** Messages of Workers AI's chat models. */
export const workersAiAdapter: ModelFormatAdapter<WorkersAiMessage[]> = {
  name: "workers-ai",
  async toModel(messages) {
    return (await toExchanges(messages)).flatMap((exchange) =>
      chatMessages(exchange, { file: imageOnly, workersAi: true }),
    );
  },
  fromModel(messages, newId) {
    const known = messages.map(({ reasoning, ...message }) =>
      reasoning === undefined ? message : { ...message, reasoning_content: reasoning },
    );
    return readChat(known, newId, "Workers AI chat completions");
  },
};

interface Style {
  readonly file: (file: File) => UserPart;
  readonly workersAi?: boolean;
}

function chatMessages(exchange: Exchange, style: Style): WorkersAiMessage[] {
  if (exchange.role === "system") return [{ role: "system", content: exchange.text }];
  if (exchange.role === "user") return userMessage(exchange.content, style);
  if (exchange.role === "assistant") return assistantMessage(exchange.content, style);
  return exchange.results.map(({ callId: tool_call_id, toolName: name, text: content }) => {
    return { role: "tool", tool_call_id, content, ...(style.workersAi === true && { name }) };
  });
}

type ContentOf<Role> = Extract<Exchange, { role: Role; content: unknown }>["content"];

function userMessage(content: ContentOf<"user">, { file, workersAi = false }: Style): ChatMessage[] {
  const parts = content.map((part): UserPart =>
    part.kind === "text" ? { type: "text", text: part.text } : file(part),
  );
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : []));
  const plain = texts.length === parts.length && (workersAi || parts.length === 1);
  return [{ role: "user", content: plain ? texts.join("\n") : parts }];
}

function assistantMessage(content: ContentOf<"assistant">, { workersAi = false }: Style): WorkersAiMessage[] {
  const calls = content.flatMap((part) => (part.kind === "call" ? [part] : []));
  const tool_calls = calls.map(({ callId: id, toolName: name, input }) => {
    return { id, type: "function" as const, function: { name, arguments: JSON.stringify(input ?? {}) } };
  });
  const thoughts = content.flatMap((part) => (part.kind === "reasoning" ? [part.text] : [])).join("");
  const text = replyText(content, workersAi ? null : reasoningNote(thoughts));
  const reasoning = workersAi ? thoughts : "";
  if (text === "" && reasoning === "" && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: text === "" && !workersAi ? null : text,
      ...(reasoning !== "" && { reasoning }),
      ...(calls.length > 0 && { tool_calls }),
    },
  ];
}

/** Returns the text of a reply, with a note for content that no reply may carry. Adjacent texts are joined. */
function replyText(content: ContentOf<"assistant">, note: string | null): string {
  const lines = note === null ? [] : [note];
  let isOpen = false;
  for (const part of content) {
    if (part.kind === "text" && isOpen) lines.push(`${lines.pop() ?? ""}${part.text}`);
    else if (part.kind === "text") lines.push(part.text);
    else if (part.kind === "file") lines.push(fileNote(part));
    if (part.kind === "text" || part.kind === "file") isOpen = part.kind === "text";
  }
  return lines.filter((line) => line !== "").join("\n");
}

function openAiFile(file: File): UserPart {
  if (file.mediaType.startsWith("image") || file.url?.startsWith("data:") !== true) return imageOnly(file);
  return { type: "file", file: { file_data: file.url, filename: file.filename ?? "file" } };
}

function imageOnly(file: File): UserPart {
  if (!file.mediaType.startsWith("image") || file.url === null) return { type: "text", text: fileNote(file) };
  return { type: "image_url", image_url: { url: file.url } };
}

function readChat(messages: readonly unknown[], newId: () => string, format: string): UIMessage[] {
  return turnsToMessages(parseTurns(openAiMessage, messages, format), newId);
}
