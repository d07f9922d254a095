/**
 * What each provider's API answers with 400, by its own documentation. A body in, the refusals out.
 *
 * - Anthropic: https://docs.claude.com/en/api/messages, "Extended thinking", "Tool use" and "Vision".
 * - OpenAI: https://platform.openai.com/docs/api-reference/responses and /chat.
 * - Gemini: https://ai.google.dev/gemini-api/docs/function-calling and /thought-signatures.
 * - Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
 * - Mistral: https://docs.mistral.ai/api, and the chat templates of its open models.
 */
import type { UIMessage } from "ai";
import { imageSize } from "../../../../src/steps/tokens/image-tokens.ts";
import { bodyFor, providers, type Provider } from "./bodies.ts";

type Json = Record<string, unknown>;

const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const LONG_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const GEMINI_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;

/** Every refusal of a view by any provider, each with the provider's name. Empty for a view that all of them take. */
export async function refusals(messages: UIMessage[], only: readonly Provider[] = providers): Promise<string[]> {
  const found: string[] = [];
  for (const provider of only) {
    try {
      found.push(...judge(provider, await bodyFor(provider, messages)));
    } catch (error) {
      found.push(`${provider}: ${String(error)}`);
    }
  }
  return found;
}

/** The refusals of one body. */
export function judge(provider: Provider, body: Json): string[] {
  return [...RULES[provider](body), ...halves(body)].map((each) => `${provider}: ${each}`);
}

const RULES: Readonly<Record<Provider, (body: Json) => string[]>> = {
  anthropic,
  openai,
  openaiWithoutStore: openai,
  google,
  bedrock,
  mistral: (body) => [...chat(body), ...alternating(body), ...most(8, pictures(body["messages"], "image_url").length)],
  chat: (body) => [...chat(body), ...alternating(body), ...textLists(body)],
};

function halves(value: unknown): string[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : ["half a surrogate pair"];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [...halves(key), ...halves(each)]);
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isBlank(value: unknown): boolean {
  return typeof value === "string" && value.trim() === "";
}

function contentOf(message: Json | undefined): Json[] {
  return typeof message?.["content"] === "string"
    ? [{ type: "text", text: message["content"] }]
    : list(message?.["content"]);
}

function anthropic(body: Json): string[] {
  const messages = list(body["messages"]);
  const bad: string[] = messages[0]?.["role"] === "user" ? [] : ["the first message is not the user's"];
  const ids = new Set<unknown>();
  if (endsInWords(messages)) bad.push("the last message is the assistant's");
  messages.forEach((message, at) => {
    const content = contentOf(message);
    if (message["role"] === messages[at - 1]?.["role"]) bad.push("roles do not alternate");
    if (content.length === 0) bad.push(`empty content of ${String(message["role"])}`);
    bad.push(...content.flatMap((part) => refusedBlock(part, ids)));
    const last = content.at(-1)?.["type"];
    if (last === "thinking" || last === "redacted_thinking") bad.push("a message that ends with thinking");
    const called = content.flatMap(({ type, id }) => (type === "tool_use" ? [id] : []));
    const given = contentOf(messages[at + 1]).flatMap(({ type, tool_use_id: id }) =>
      type === "tool_result" ? [id] : [],
    );
    const isNext = message["role"] === "assistant" && at < messages.length - 1;
    if (isNext && !sameIds(called, given)) bad.push("calls and results differ");
    const firstOther = content.findIndex(({ type }) => type !== "tool_result");
    if (firstOther !== -1 && content.slice(firstOther).some(({ type }) => type === "tool_result"))
      bad.push("a result behind other content");
  });
  const sources = pictures(messages, "image").map(({ source }) => source as Json);
  bad.push(...claudePictures(sources.map(({ data }) => data)));
  const kinds = sources.flatMap(({ media_type: kind }) => (typeof kind === "string" ? [kind] : []));
  bad.push(...kinds.filter((kind) => !/^image\/(?:jpeg|png|gif|webp)$/.test(kind)));
  return bad;
}

function most(limit: number, found: number, what = "pictures"): string[] {
  return found > limit ? [`${found} ${what}`] : [];
}

/** All that are in a value, as blocks of this type or under this key. */
function pictures(value: unknown, name: string): Json[] {
  if (typeof value !== "object" || value === null) return [];
  if ((value as Json)["type"] === name) return [value as Json];
  return Object.entries(value).flatMap(([key, each]) =>
    key === name && !Array.isArray(value) ? [each as Json] : pictures(each, name),
  );
}

function claudePictures(contents: readonly unknown[]): string[] {
  const sides = contents.map((content) => {
    const { width, height } = imageSize(content) ?? { width: 2_001, height: 1 };
    return Math.max(width, height);
  });
  const side = contents.length > 20 ? 2_000 : 8_000;
  return [
    ...most(100, contents.length),
    ...sides.filter((each) => each > side).map((each) => `a picture of ${each} px`),
  ];
}

/** Newer models take no beginning of their answer. A provider's own call that has no result yet goes on. */
function endsInWords(messages: readonly Json[]): boolean {
  const last = messages.at(-1);
  const { type, text } = contentOf(last).at(-1) ?? {};
  return last?.["role"] === "assistant" && (type === "text" || text !== undefined);
}

function refusedBlock({ type, id, name, input, text, signature, content }: Json, ids: Set<unknown>): string[] {
  const bad: string[] = [];
  if (type === "text" && isBlank(text)) bad.push("a blank text");
  if (type === "tool_use") {
    if (!ID.test(String(id))) bad.push(`id ${String(id)}`);
    if (ids.has(id)) bad.push(`id ${String(id)} twice`);
    ids.add(id);
    if (!LONG_NAME.test(String(name))) bad.push(`name ${String(name)}`);
    if (!isObject(input)) bad.push("an input that is no object");
  }
  if (type === "thinking" && isBlank(signature ?? "")) bad.push("thinking without a signature");
  if (type === "tool_result" && list(content).some((each) => each["text"] === ""))
    bad.push("an empty text in a result");
  return bad;
}

function sameIds(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id)) && new Set(b).size === b.length;
}

function openai(body: Json): string[] {
  const items = list(body["input"]);
  const bad: string[] = [];
  const ids = new Set<unknown>();
  const calls = new Set<unknown>();
  const outputs = new Set<unknown>();
  items.forEach((item, at) => {
    const { id, type, call_id: call, name, role, content } = item;
    if (id !== undefined && ids.has(id)) bad.push(`item ${JSON.stringify(id)} twice`);
    ids.add(id);
    const isReasoning = type === "reasoning" || (type === "item_reference" && String(id).startsWith("rs_"));
    const next = items[at + 1];
    if (isReasoning && (next === undefined || next["role"] === "user" || next["type"] === "function_call_output"))
      bad.push("reasoning without what followed it");
    if (type === "function_call") {
      if (calls.has(call)) bad.push(`call ${String(call)} twice`);
      if (String(call).length > 64) bad.push(`a call id of ${String(call).length} characters`);
      if (!LONG_NAME.test(String(name))) bad.push(`name ${String(name)}`);
      calls.add(call);
    }
    if (type === "function_call_output") {
      if (!calls.has(call)) bad.push("an output without its call");
      if (outputs.has(call)) bad.push("a second output of a call");
      outputs.add(call);
    }
    if (role === "user" && list(content).length === 0) bad.push("an empty message of the user");
  });
  for (const call of calls) if (!outputs.has(call)) bad.push(`call ${String(call)} without an output`);
  return bad;
}

function google(body: Json): string[] {
  const contents = list(body["contents"]);
  const bad: string[] = contents[0]?.["role"] === "user" ? [] : ["the first content is not the user's"];
  if (contents.at(-1)?.["role"] !== "user") bad.push("the last content is not the user's");
  contents.forEach((content, at) => {
    const parts = list(content["parts"]);
    if (parts.length === 0) bad.push(`empty parts of ${String(content["role"])}`);
    if (parts.some(isBlankForGemini)) bad.push("a blank text");
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined);
    const next = list(contents[at + 1]?.["parts"]).filter(({ functionResponse }) => functionResponse !== undefined);
    if (calls.length > 0) {
      if (contents[at - 1]?.["role"] !== "user") bad.push("a call that is not right behind the user or a response");
      if (next.length !== calls.length) bad.push("calls and responses differ in number");
      for (const { functionCall } of calls) {
        const { name, args } = functionCall as Json;
        if (!GEMINI_NAME.test(String(name))) bad.push(`name ${String(name)}`);
        if (args !== undefined && !isObject(args)) bad.push("args that are no object");
      }
    }
    const responses = parts.filter(({ functionResponse }) => functionResponse !== undefined);
    const before = list(contents[at - 1]?.["parts"]);
    if (responses.length > 0 && !before.some(({ functionCall }) => functionCall !== undefined))
      bad.push("a response without a call");
  });
  return bad;
}

function isBlankForGemini({ text, thought, thoughtSignature }: Json): boolean {
  return thought === true ? text === "" && thoughtSignature === undefined : isBlank(text);
}

function bedrock(body: Json): string[] {
  const messages = list(body["messages"]);
  const bad: string[] = messages[0]?.["role"] === "user" ? [] : ["the first message is not the user's"];
  if (messages.at(-1)?.["role"] !== "user") bad.push("the last message is not the user's");
  const documents = messages.flatMap((message) =>
    contentOf(message).map((part) => (part["document"] as Json)?.["name"]),
  );
  const named = documents.filter((name) => name !== undefined);
  if (new Set(named).size < named.length) bad.push("two documents of one name");
  bad.push(...most(5, pictures(messages, "document").length, "documents"));
  bad.push(...claudePictures(pictures(messages, "image").map(({ source }) => (source as Json)["bytes"])));
  const files = [...pictures(messages, "document"), ...pictures(messages, "image")];
  bad.push(...most(20, files.length, "documents and pictures"));
  messages.forEach((message, at) => {
    const content = contentOf(message);
    if (message["role"] === messages[at - 1]?.["role"]) bad.push("roles do not alternate");
    if (content.length === 0) bad.push(`empty content of ${String(message["role"])}`);
    for (const { text, toolUse, toolResult } of content) {
      if (isBlank(text)) bad.push("a blank text");
      if (toolUse !== undefined) {
        const { toolUseId, name, input } = toolUse as Json;
        if (!ID.test(String(toolUseId))) bad.push(`id ${String(toolUseId)}`);
        if (!NAME.test(String(name))) bad.push(`name ${String(name)}`);
        if (!isObject(input)) bad.push("an input that is no object");
      }
      if (toolResult !== undefined) {
        const inner = list((toolResult as Json)["content"]);
        if (inner.length === 0 || inner.some((each) => isBlank(each["text"]))) bad.push("a blank result");
      }
    }
    if (message["role"] !== "assistant") return;
    const called = content.flatMap(({ toolUse }) => (toolUse === undefined ? [] : [(toolUse as Json)["toolUseId"]]));
    const given = contentOf(messages[at + 1]).flatMap(({ toolResult }) =>
      toolResult === undefined ? [] : [(toolResult as Json)["toolUseId"]],
    );
    if (at < messages.length - 1 && !sameIds(called, given)) bad.push("calls and results differ");
  });
  return bad;
}

function chat(body: Json): string[] {
  const bad: string[] = [];
  let open = new Set<unknown>();
  for (const message of list(body["messages"])) {
    const { role, content, tool_calls: calls, tool_call_id: id } = message;
    if (role === "tool") {
      if (!open.delete(id)) bad.push("a result without a call");
      continue;
    }
    if (open.size > 0) bad.push("a call without a result");
    open = new Set();
    const isEmpty =
      content === null || content === undefined || isBlank(content) || (Array.isArray(content) && content.length === 0);
    if (isEmpty && list(calls).length === 0) bad.push(`a message of ${String(role)} with neither content nor calls`);
    for (const call of list(calls)) {
      const { name, arguments: given } = call["function"] as Json;
      if (open.has(call["id"])) bad.push("two calls under one id");
      open.add(call["id"]);
      if (!ID.test(String(call["id"]))) bad.push(`id ${String(call["id"])}`);
      if (!NAME.test(String(name))) bad.push(`name ${String(name)}`);
      if (!isObject(JSON.parse(String(given)))) bad.push("arguments that are no object");
    }
  }
  if (open.size > 0) bad.push("a call without a result at the end");
  // Servers of open models that think take no beginning of an answer.
  if (endsInWords(list(body["messages"]))) bad.push("the last message is the assistant's");
  return bad;
}

/** DeepSeek and servers of open models read a text where there is no file. */
function textLists(body: Json): string[] {
  const lists = list(body["messages"]).map(({ content }) => list(content));
  const isTexts = (content: readonly Json[]): boolean =>
    content.length > 0 && content.every(({ type }) => type === "text");
  return lists.some(isTexts) ? ["a list of texts alone"] : [];
}

/** Templates that raise unless user and assistant alternate, from the user on. Calls and their results are not counted. */
function alternating(body: Json): string[] {
  const all = list(body["messages"]);
  // Instructions come first.
  const messages = all[0]?.["role"] === "system" ? all.slice(1) : all;
  const counted = messages.filter((each) => each["role"] !== "tool" && list(each["tool_calls"]).length === 0);
  const bad: string[] = counted.some(({ role }, at) => role === "user" && counted[at - 1]?.["role"] === "user")
    ? ["two messages of user around results"]
    : [];
  const roles = messages.map(({ role }) => role);
  if (roles[0] !== "user") bad.push("the first message is not the user's");
  roles.forEach((role, at) => {
    if (role === "system") bad.push("a system message among the others");
    if (role !== "tool" && role === roles[at - 1]) bad.push(`two messages of ${String(role)} in a row`);
  });
  return bad;
}
