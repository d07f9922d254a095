/**
 * Chat-completions messages, as most providers and benchmarks write them, and the threads of the Assistants API.
 *
 * Many tools write messages that look alike and carry more. Blocks of the Responses API are read here too, and so are calls under `tools`. Any
 * other field that says something is named in a note, because nothing may be lost in silence.
 */
import type { Part } from "../../steps/message/message.ts";
import type { Slices } from "../../steps/text/text.ts";
import { attempt, isRecord, Misfit, type Fields, type Item } from "../items.ts";
import {
  blockReader,
  bytesPart,
  filePart,
  mediaTypeOf,
  metadataOf,
  orUnknown,
  piecesOf,
  reasoningPart,
  textPart,
  toolOutput,
  type Chat,
  type ImportedTurn,
  type ReadBlock,
  type ToolCall,
  type TurnPiece,
} from "../turns.ts";
import { readLists } from "./lists.ts";

const PDF = "application/pdf";
const text: ReadBlock = (block) => textPart(block.text("text"));
const refusal: ReadBlock = (block) => textPart(block.text("refusal"));
const image: ReadBlock = (block) => imagePart(block.fields("image_url").url("url"));

function imagePart(url: string): Part {
  return filePart(mediaTypeOf(url, "image"), url);
}

/** A file by its data, which may be a data URL or bare base64, or by its address. */
function dataFile(file: Fields): Part {
  const [data, name] = [file.maybeText("file_data"), file.maybeText("filename")];
  if (data?.startsWith("data:")) return filePart(mediaTypeOf(data, PDF), data, name);
  return data ? bytesPart(PDF, data, name) : filePart(PDF, file.url("file_url"), name);
}

/** A file with its text, as some tools keep it. In a fence, because the user did not write it. */
function textFile(file: Fields): Part {
  const name = file.maybeText("path") ?? file.maybeText("filename") ?? file.maybeText("name") ?? "A file";
  const body = file.text("content");
  const longest = (body.match(/`+/g) ?? []).reduce((most, ticks) => Math.max(most, ticks.length), 2);
  const fence = "`".repeat(longest + 1);
  return textPart(`${name}:\n\n${fence}\n${body}\n${fence}`);
}

function audio(block: Fields): Part {
  const sound = block.fields("input_audio");
  return bytesPart(`audio/${sound.text("format")}`, sound.text("data"));
}

const readBlock = blockReader({
  text,
  refusal,
  image_url: image,
  file: orUnknown((block) => dataFile(block.fields("file")), textFile),
  input_text: orUnknown(text),
  output_text: orUnknown(text),
  summary_text: orUnknown(text),
  reasoning_text: orUnknown(text),
  input_image: orUnknown((block) => imagePart(block.url("image_url"))),
  input_file: orUnknown(dataFile),
  input_audio: orUnknown(audio),
});

/** The content of a message of OpenAI's. */
export function openAiContent(message: Fields): TurnPiece[] {
  return piecesOf(message, readBlock);
}

function callOf(call: Fields): ToolCall {
  const callId = call.text("id");
  const custom = call.has("function") ? null : call.maybeFields("custom");
  if (custom !== null) return { type: "call", callId, toolName: custom.text("name"), input: custom.text("input") };
  return { ...functionCall(call.fields("function")), callId };
}

/** Calls of the first API had no id, and the next message of the role `function` answered by name. */
function functionCall(called: Fields): ToolCall {
  const toolName = called.text("name");
  return {
    type: "call",
    callId: idOfFunction(toolName),
    toolName,
    input: parseArguments(called.maybeText("arguments") ?? ""),
  };
}

function idOfFunction(name: string): string {
  return `function-${name}`;
}

const INPUTS = ["input", "arguments", "args", "parameters"];
const OUTPUTS = ["output", "result", "error"];

/** A call as backups of editors list it, with the tool's name, whatever else is known, and often without an output. */
function listedCall(call: Fields): ToolCall {
  const [toolName, callId] = [call.text("name"), call.maybeText("id")];
  const given = INPUTS.find((key) => call.all[key] !== undefined);
  const came = OUTPUTS.find((key) => call.has(key));
  const input = given === undefined ? call.without("name", "id", came ?? "name") : call.all[given];
  return {
    type: "call",
    callId,
    toolName,
    input: typeof input === "string" ? parseArguments(input) : input,
    ...(came !== undefined && { settled: { output: call.get(came), failed: came === "error" } }),
  };
}

function assistant(message: Fields): ImportedTurn {
  const [thought, refused, first] = [
    message.maybeText("reasoning_content"),
    message.maybeText("refusal"),
    message.maybeFields("function_call"),
  ];
  const listed = attempt(() => message.list("tools", listedCall));
  const pieces = [
    ...(thought ? [reasoningPart(thought)] : []),
    ...openAiContent(message),
    ...(refused ? [textPart(refused)] : []),
    ...(first === null ? [] : [functionCall(first)]),
    ...(message.has("tool_calls") ? message.list("tool_calls", callOf) : []),
    ...(listed instanceof Misfit ? [] : listed),
  ];
  return turnOf(message, "assistant", pieces, listed instanceof Misfit ? READ : [...READ, "tools"]);
}

const READ = ["id", "role", "content", "reasoning_content", "refusal", "tool_calls", "function_call", "tool_call_id"];

/** Fields beside a message that repeat nothing of what was said. */
const ASIDE = [
  "name",
  "type",
  "object",
  "status",
  "model",
  "usage",
  "date",
  "time",
  "timestamp",
  "created",
  "created_at",
  "phase",
];

function turnOf(
  message: Fields,
  role: "system" | "user" | "assistant",
  pieces: TurnPiece[],
  read = READ,
): ImportedTurn {
  const unread = Object.entries(message.without(...read, ...ASIDE)).filter(([, field]) => saysSomething(field));
  return { role, pieces, id: message.maybeText("id"), metadata: {}, unread: unread.map(([key]) => key) };
}

function saysSomething(field: unknown): boolean {
  if (typeof field === "string") return field.trim() !== "";
  if (Array.isArray(field)) return field.length > 0;
  return isRecord(field) && Object.keys(field).length > 0;
}

function resultOf(message: Fields, callId: string): ImportedTurn {
  const output = toolOutput(message.get("content"));
  const result: TurnPiece = { type: "result", callId, toolName: message.maybeText("name"), output, failed: false };
  return { ...turnOf(message, "user", [result]), id: null };
}

const ROLES = new Map<string, (message: Fields) => ImportedTurn>([
  ["system", (message) => turnOf(message, "system", openAiContent(message))],
  ["developer", (message) => turnOf(message, "system", openAiContent(message))],
  ["user", (message) => turnOf(message, "user", openAiContent(message))],
  ["assistant", assistant],
  ["tool", (message) => resultOf(message, message.text("tool_call_id"))],
  ["function", (message) => resultOf(message, idOfFunction(message.text("name")))],
]);

/** True for a role that a message of OpenAI's may have. */
export function isOpenAiRole(role: unknown): boolean {
  return typeof role === "string" && ROLES.has(role);
}

export function openAiMessage(message: Fields): ImportedTurn {
  const read = ROLES.get(message.text("role"));
  return read === undefined ? message.fail("role", `is none of ${[...ROLES.keys()].join(", ")}`) : read(message);
}

/** Parses the arguments that the model wrote. Models sometimes break JSON off, and the text itself is then the input. */
export function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const readThreadBlock = blockReader({
  text: orUnknown((block) => textPart(block.fields("text").text("value"))),
  refusal: orUnknown(refusal),
  image_url: orUnknown(image),
});

/** A thread's unit of time in milliseconds. */
const SECOND_MS = 1_000;

/** A message of a thread, which keeps a text one level deeper than other APIs. */
function threadMessage(message: Fields) {
  const createdAt = message.number("created_at") * SECOND_MS;
  const role = message.oneOf("role", ["user", "assistant"]);
  const pieces = piecesOf(message, readThreadBlock);
  return { createdAt, turn: { role, pieces, metadata: metadataOf({ createdAt }), id: message.maybeText("id") } };
}

/** Returns the threads of `items` in the order of time. The API lists the newest first. Throws `import_failed`. */
export function* readThreads(items: readonly Item[]): Slices<Chat[]> {
  const lists = yield* readLists(items, threadMessage, "openai-thread");
  return lists.map(({ label, values }) => {
    // Messages of one second keep their order, which in a list of the newest first is the other way round.
    const isReversed = (values[0]?.createdAt ?? 0) >= (values.at(-1)?.createdAt ?? 0);
    const ordered = isReversed ? values.toReversed() : values;
    return { label, turns: ordered.toSorted((a, b) => a.createdAt - b.createdAt).map(({ turn }) => turn) };
  });
}
