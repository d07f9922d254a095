/**
 * Chat-completions messages, as most providers and benchmarks write them.
 *
 * Many tools write messages that look alike and carry more. Blocks of the Responses API are read here too, and so are calls under `tools`. Any
 * other field that says something is named in a note, because nothing may be lost in silence.
 */
import { z } from "zod";
import {
  content,
  filePiece,
  fileTextPiece,
  mediaTypeOf,
  orUnknown,
  reasoningPiece,
  textPiece,
  toolOutput,
  unknownBlock,
} from "./blocks.ts";
import { choose, isRecord, list, parseInside } from "./items.ts";
import type { ToolCall, TurnPiece, ImportedTurn } from "./turns.ts";

const text = z.object({ text: z.string() }).transform((block) => textPiece(block.text));
const refusal = z.object({ refusal: z.string() }).transform((block) => textPiece(block.refusal));

const image = z
  .object({ image_url: z.object({ url: z.url() }) })
  .transform((block) => filePiece(mediaTypeOf(block.image_url.url, "image"), block.image_url));
const inputImage = z
  .object({ image_url: z.url() })
  .transform((block) => filePiece(mediaTypeOf(block.image_url, "image"), { url: block.image_url }));
const audio = z
  .object({ input_audio: z.object({ data: z.string(), format: z.string() }) })
  .transform(({ input_audio: sound }) => filePiece(`audio/${sound.format}`, { base64: sound.data }));

const PDF = "application/pdf";
const fileFields = z.object({
  file_data: z.string().nullish(),
  file_url: z.url().nullish(),
  filename: z.string().nullish(),
});
/** A file by its data, which may be a data URL or bare base64, or by its address. */
const dataFile = fileFields.transform((file, context): TurnPiece => {
  const { file_data: data, file_url: url, filename } = file;
  if (data?.startsWith("data:")) return filePiece(mediaTypeOf(data, PDF), { url: data }, filename);
  if (data) return filePiece(PDF, { base64: data }, filename);
  if (url) return filePiece(PDF, { url }, filename);
  context.addIssue({ code: "custom", message: "holds no file" });
  return z.NEVER;
});
const nestedFile = z.object({ file: dataFile }).transform((block) => block.file);
/** A file with its text, as some tools keep it. */
const textFile = z
  .object({
    path: z.string().nullish(),
    filename: z.string().nullish(),
    name: z.string().nullish(),
    content: z.string(),
  })
  .transform((file) => fileTextPiece(file.path ?? file.filename ?? file.name ?? "A file", file.content));

const anyText = orUnknown(text);
const blocks = new Map<string, z.ZodType<TurnPiece>>([
  ["text", text],
  ["refusal", refusal],
  ["image_url", image],
  ["file", orUnknown(nestedFile, textFile)],
  ["input_text", anyText],
  ["output_text", anyText],
  ["summary_text", anyText],
  ["reasoning_text", anyText],
  ["input_image", orUnknown(inputImage)],
  ["input_file", orUnknown(dataFile)],
  ["input_audio", orUnknown(audio)],
]);

/** The content of a message of OpenAI's. */
export const openAiContent = content(choose("type", (type) => blocks.get(type) ?? unknownBlock));

const call = z
  .object({
    id: z.string(),
    function: z.object({ name: z.string(), arguments: z.string().nullish() }).optional(),
    custom: z.object({ name: z.string(), input: z.string() }).optional(),
  })
  .transform((value, context): TurnPiece => {
    if (value.function !== undefined) {
      const { name, arguments: input } = value.function;
      return { kind: "call", callId: value.id, toolName: name, input: parseArguments(input ?? "") };
    }
    if (value.custom !== undefined) {
      return { kind: "call", callId: value.id, toolName: value.custom.name, input: value.custom.input };
    }
    context.addIssue({ code: "custom", path: ["function"], message: "is missing: the call names no tool" });
    return z.NEVER;
  });

const functionCall = z
  .object({ name: z.string(), arguments: z.string().nullish() })
  .transform(({ name, arguments: input }): TurnPiece => {
    return { kind: "call", callId: idOfFunction(name), toolName: name, input: parseArguments(input ?? "") };
  });

/** Calls of the first API had no id, and the next message of the role `function` answered by name. */
function idOfFunction(name: string): string {
  return `function-${name}`;
}

const INPUTS = ["input", "arguments", "args", "parameters"] as const;
const OUTPUTS = ["output", "result", "error"] as const;

/** A call as backups of editors list it, with the tool's name, whatever else is known, and often without an output. */
const listedCall = z
  .looseObject({ name: z.string(), id: z.string().nullish() })
  .transform(({ name, id, ...rest }): ToolCall => {
    const given = INPUTS.find((key) => rest[key] !== undefined);
    const came = OUTPUTS.find((key) => rest[key] !== undefined && rest[key] !== null);
    const isOwn = (key: string): boolean => key !== given && key !== came;
    const others = Object.fromEntries(Object.entries(rest).filter(([key]) => isOwn(key)));
    const input = given === undefined ? others : rest[given];
    return {
      kind: "call",
      callId: id ?? null,
      toolName: name,
      input: typeof input === "string" ? parseArguments(input) : input,
      ...(came !== undefined && { settled: { output: rest[came], failed: came === "error" } }),
    };
  });
const listedCalls = list(listedCall);

const message = z.looseObject({ id: z.string().nullish(), content: openAiContent });

const assistant = message
  .extend({
    reasoning_content: z.string().nullish(),
    refusal: z.string().nullish(),
    tool_calls: list(call).nullish(),
    function_call: functionCall.nullish(),
    tools: z.unknown().optional(),
  })
  .transform((value, context): ImportedTurn => {
    const listed = listedCalls.safeParse(value.tools);
    const pieces = [
      ...(value.reasoning_content ? [reasoningPiece(value.reasoning_content)] : []),
      ...value.content,
      ...(value.refusal ? [textPiece(value.refusal)] : []),
      ...(value.function_call ? [value.function_call] : []),
      ...(value.tool_calls ?? []),
      ...(listed.success ? parseInside(listedCalls, value.tools, context) : []),
    ];
    const read = listed.success ? [...READ, "tools"] : READ;
    return { role: "assistant", pieces, id: value.id ?? null, metadata: {}, unread: unreadIn(value, read) };
  });

const READ = [
  "id",
  "role",
  "content",
  "reasoning_content",
  "refusal",
  "tool_calls",
  "function_call",
  "tool_call_id",
] as const;

/** Fields beside a message that repeat nothing of what was said. */
const ASIDE: ReadonlySet<string> = new Set([
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
]);

/** Returns the names of fields that say something and were not read. */
function unreadIn(value: Readonly<Record<string, unknown>>, read: readonly string[]): string[] {
  const says = ([key, field]: [string, unknown]): boolean => {
    if (read.includes(key) || ASIDE.has(key)) return false;
    if (typeof field === "string") return field.trim() !== "";
    if (Array.isArray(field)) return field.length > 0;
    return isRecord(field) && Object.keys(field).length > 0;
  };
  return Object.entries(value)
    .filter(says)
    .map(([key]) => key);
}

const tool = z
  .looseObject({ tool_call_id: z.string(), name: z.string().nullish(), content: toolOutput })
  .transform((value): ImportedTurn => resultTurn(value.tool_call_id, value));

const functionResult = z
  .looseObject({ name: z.string(), content: toolOutput })
  .transform((value): ImportedTurn => resultTurn(idOfFunction(value.name), value));

function resultTurn(
  callId: string,
  value: { name?: string | null | undefined; content?: unknown } & Readonly<Record<string, unknown>>,
): ImportedTurn {
  const result: TurnPiece = {
    kind: "result",
    callId,
    toolName: value.name ?? null,
    output: value.content,
    failed: false,
  };
  return { role: "user", pieces: [result], id: null, metadata: {}, unread: unreadIn(value, READ) };
}

function textOnly(role: "system" | "user") {
  return message.transform((value): ImportedTurn => ({
    role,
    pieces: value.content,
    id: value.id ?? null,
    metadata: {},
    unread: unreadIn(value, READ),
  }));
}

const roles = new Map<string, z.ZodType<ImportedTurn>>([
  ["system", textOnly("system")],
  ["developer", textOnly("system")],
  ["user", textOnly("user")],
  ["assistant", assistant],
  ["tool", tool],
  ["function", functionResult],
]);

/** True for a role that a message of OpenAI's may have. */
export function isOpenAiRole(role: unknown): boolean {
  return typeof role === "string" && roles.has(role);
}

export const openAiMessage = choose("role", (role) => {
  return (
    roles.get(role) ?? z.custom<ImportedTurn>(() => false, `unknown role; known are ${[...roles.keys()].join(", ")}`)
  );
});

/** Parses the arguments that the model wrote. Models sometimes break JSON off, and the text itself is then the input. */
export function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
