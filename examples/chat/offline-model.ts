/**
 * A chat model without a model, so that the example runs with no account: it calls tools, follows their results, and
 * always does the same with the same prompt.
 *
 * It is as strict as a provider: a prompt over its window is refused, and so is a tool call without its result.
 */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4Message,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
  type LanguageModelV4ToolCallPart,
  type LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";

export interface OfflineModelOptions {
  /** Awaited before each answer, as the time for which the model thinks. */
  readonly think?: () => Promise<void>;
}

/** Most tokens of a prompt, tools included. */
const WINDOW = 16_000;

const CHARS_PER_TOKEN = 3.5;

export function offlineModel({ think = async () => undefined }: OfflineModelOptions = {}): LanguageModelV4 {
  const answer = async (options: LanguageModelV4CallOptions) => {
    const inputTokens = check(options);
    await think();
    const content = [signed(decide(options.prompt), options.prompt)];
    const called = content[0]?.type === "tool-call";
    return {
      content,
      finishReason: { unified: called ? ("tool-calls" as const) : ("stop" as const), raw: undefined },
      usage: {
        inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: tokensOf(content), text: undefined, reasoning: undefined },
      },
      warnings: [],
    };
  };
  return {
    specificationVersion: "v4",
    provider: "example",
    modelId: "clerk",
    supportedUrls: {},
    doGenerate: answer,
    doStream: async (options) => {
      const { content, finishReason, usage } = await answer(options);
      const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
      for (const part of content) parts.push(...streamed(part));
      return { stream: streamOf([...parts, { type: "finish", finishReason, usage }]) };
    },
  };
}

/** The prompt's tokens. Throws what a provider answers to a prompt that it does not take. */
function check({ prompt, tools = [] }: LanguageModelV4CallOptions): number {
  const tokens = tokensOf([prompt, tools]);
  if (tokens > WINDOW)
    throw refused(`This model's maximum context length is ${WINDOW} tokens, your prompt has ${tokens}.`);
  for (const [at, message] of prompt.entries()) {
    const next = prompt[at + 1];
    const open = new Set(callsIn(message).map((call) => call.toolCallId));
    for (const result of next === undefined ? [] : resultsIn(next)) {
      if (!open.delete(result.toolCallId)) throw refused(`Tool result ${result.toolCallId} answers no call.`);
    }
    if (open.size > 0) throw refused(`Tool calls ${[...open].join(", ")} have no results right after them.`);
  }
  return tokens;
}

function refused(message: string): APICallError {
  return new APICallError({ message, statusCode: 400, url: "offline:", requestBodyValues: {} });
}

/** The assistant's next act. It goes on with the newest tool result, or turns to what the user said last. */
function decide(prompt: LanguageModelV4Prompt): LanguageModelV4Content {
  const result = prompt.findLast((message) => message.role !== "user" || !isReminder(message));
  const [answered] = result === undefined ? [] : resultsIn(result);
  return answered === undefined ? obey(lastRequest(prompt)) : goOn(answered);
}

function obey(request: string): LanguageModelV4Content {
  const remember = /^remember:? (.+)/is.exec(request)?.[1];
  if (remember !== undefined) return call("set_context", { label: "memory", content: remember, action: "append" });
  const [, topic, card] = /^file (\S+): (.+)/is.exec(request) ?? [];
  if (topic !== undefined) return call("set_context", { label: "cards", key: topic, content: card });
  const query = /^look up (.+?)[.?!]?$/i.exec(request)?.[1];
  if (query !== undefined) return call("search_context", { label: "cards", query });
  const said = /\bsearch our conversations for (.+?)[.?!]?$/i.exec(request)?.[1];
  if (said !== undefined) return call("session_search", { query: said });
  const [, verb, key] = /\b(use|put away) the (\S+) skill/i.exec(request) ?? [];
  if (verb !== undefined) return call(verb === "use" ? "load_context" : "unload_context", { label: "skills", key });
  const pages = /\bread pages? (\d+)(?: to (\d+))?/i.exec(request);
  if (pages !== null) return call("read_log", { from: Number(pages[1]), to: Number(pages[2] ?? pages[1]) });
  const word = /\bfind (\w+)/i.exec(request)?.[1];
  if (word !== undefined) return call("find_in_log", { word });
  return {
    type: "text",
    text: `You said: "${request.slice(0, 80)}". Ask me for one of the things that my README lists.`,
  };
}

function goOn({ toolName, output }: LanguageModelV4ToolResultPart): LanguageModelV4Content {
  const value = output.type === "json" ? (output.value as Record<string, unknown>) : {};
  if (toolName === "read_log" && value["next"]) return call("read_log", value["next"]);
  if (toolName === "read_log") return { type: "text", text: `I have read up to page ${String(value["page"])}.` };
  if (toolName === "find_in_log") return { type: "text", text: `It is on pages ${JSON.stringify(value["pages"])}.` };
  if (output.type !== "text") return { type: "text", text: "Done." };
  if (toolName === "load_context" && !output.value.startsWith("Not done"))
    return { type: "text", text: "I have read it and go by it." };
  return { type: "text", text: output.value };
}

/** While it is shown a skill, it does one thing that the skill says. So its answers show what is loaded. */
function signed(answer: LanguageModelV4Content, prompt: LanguageModelV4Prompt): LanguageModelV4Content {
  if (answer.type !== "text") return answer;
  const skills = prompt.flatMap(resultsIn).filter(({ toolName }) => toolName === "load_context");
  const ending = /End every answer with \\"(.+?)\\"/.exec(JSON.stringify(skills.map(({ output }) => output)))?.[1];
  return ending === undefined ? answer : { ...answer, text: `${answer.text} ${ending}` };
}

function call(toolName: string, input: unknown): LanguageModelV4Content {
  return { type: "tool-call", toolCallId: crypto.randomUUID(), toolName, input: JSON.stringify(input) };
}

function lastRequest(prompt: LanguageModelV4Prompt): string {
  const message = prompt.findLast((each) => each.role === "user" && !isReminder(each));
  return message === undefined ? "" : textOf(message);
}

/** A changed context block is told at the end of the conversation, as a message of its own. */
function isReminder(message: LanguageModelV4Message): boolean {
  return textOf(message).startsWith("The following blocks have changed");
}

function textOf({ content }: LanguageModelV4Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function callsIn({ role, content }: LanguageModelV4Message): LanguageModelV4ToolCallPart[] {
  return role === "assistant" ? content.filter((part) => part.type === "tool-call") : [];
}

function resultsIn({ role, content }: LanguageModelV4Message): LanguageModelV4ToolResultPart[] {
  return role === "tool" ? content.filter((part) => part.type === "tool-result") : [];
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARS_PER_TOKEN);
}

/** A text word by word, as a model says it. */
function streamed(part: LanguageModelV4Content): LanguageModelV4StreamPart[] {
  if (part.type !== "text") return part.type === "tool-call" ? [part] : [];
  const id = "text";
  const deltas = part.text.split(/(?<= )/).map((delta) => ({ type: "text-delta" as const, id, delta }));
  return [{ type: "text-start", id }, ...deltas, { type: "text-end", id }];
}

function streamOf(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}
