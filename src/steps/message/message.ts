/**
 * One message: its tool parts, its steps, its tokens, and what ties it to others. No other message is looked at.
 *
 * A part with a call and its result needs no pairing. Imported histories keep the two in separate messages, so each step of a run asks
 * {@link hasResult}, and the planner pairs by id. Stored parts were only checked to have a type, so texts are read with {@link fieldText} and
 * inner parts with {@link innerParts}. A stored history can always be read.
 *
 * A step is one model call. The AI SDK marks its beginning with a `step-start` part and turns it into a provider message of its own, so a cut
 * between steps breaks none. Appended parts only extend the last step or open new ones, so the number of a step never changes.
 *
 * A reference is `@` and seven characters derived from the message's id, the same in every text and harmless in any. Two ids share one once in
 * four billion pairs, and a look-up then returns both messages.
 */
import { lazy } from "../../lazy.ts";
import type { DynamicToolUIPart, ToolUIPart, UIMessage, FileUIPart } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { WHOLE_MESSAGE } from "../plan/outline.ts";
import { sliceMessageId, RESERVED_METADATA } from "../view/view.ts";
import { imageTokens } from "../tokens/image-tokens.ts";
import { IMAGE_TOKENS, MAX_NAME_CHARS, MESSAGE_OVERHEAD_TOKENS } from "../../limits.ts";

export type Part = UIMessage["parts"][number];
export type ToolPart = ToolUIPart | DynamicToolUIPart;

/** The part as a tool part, or null. Without a call id a part cannot be paired, so it does not count as a tool part. */
export function toolPart(part: Part): ToolPart | null {
  const named = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return named && "toolCallId" in part && typeof part.toolCallId === "string" ? part : null;
}

export function toolName(part: ToolPart): string {
  return part.type === "dynamic-tool" ? fieldText(part.toolName) : part.type.slice("tool-".length);
}

/** Fields in the metadata of messages that a harness wrote in the user's name. */
const BY_HARNESS = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic"] as const;

export function isOfHarness({ metadata }: UIMessage, marks: readonly string[] = BY_HARNESS): boolean {
  // Some clients keep the fields of a message's writer under `custom`.
  const told = metadata as { readonly custom?: unknown } | null | undefined;
  return [told, told?.custom].some((fields) =>
    marks.some((field) => (fields as Record<string, unknown>)?.[field] === true),
  );
}

/** The text of a field. Empty when it is missing or null, and JSON for a value of another type. */
export function fieldText(value: unknown): string {
  return value === null ? "" : jsonText(value);
}

/** The texts of parts, without those of tools and reasoning. */
export function textsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "text" ? [fieldText(part.text)] : []));
}

/**
 * The parts inside a part of type `steering-message`. Any other value inside becomes a text part. Returns the original
 * array when all are parts.
 */
export function innerParts(part: Part): Part[] {
  const inner: unknown = "parts" in part ? part.parts : undefined;
  if (!Array.isArray(inner)) return inner === undefined ? [] : [textPart(inner)];
  return inner.every(isPart) ? inner : inner.map((each: unknown) => (isPart(each) ? each : textPart(each)));
}

function isPart(value: unknown): value is Part {
  return typeof (value as { type?: unknown } | null)?.type === "string";
}

/** A text part of any value. */
export function textPart(value: unknown): Part {
  return { type: "text", text: fieldText(value) };
}

/** True when the model will be told how the call ended: with an output, an error, or a refusal to run it. */
export function hasResult(part: ToolPart): boolean {
  if (part.state === "approval-responded")
    return (part.approval as { approved?: boolean } | undefined)?.approved === false;
  return part.state === "output-available" || part.state === "output-error" || part.state === "output-denied";
}

/** False for a part that alone says nothing to a model: a step mark, data or sources for the page, reasoning, a provider's own, or a blank text. */
export function isSaid(part: Part): boolean {
  if (part.type === "text") return fieldText(part.text).trim() !== "";
  if (part.type === "reasoning" || part.type === "reasoning-file" || part.type === "custom") return false;
  return part.type !== "step-start" && !part.type.startsWith("data-") && !part.type.startsWith("source-");
}

/** True when the part is a call that waits for its result. */
export function isOpenCall(part: Part): boolean {
  const tool = toolPart(part);
  return tool !== null && !hasResult(tool);
}

/** True when the part is a call that waits for a person's approval, or was approved and has not run yet. */
export function isOpenApproval(part: Part): part is ToolPart {
  return isOpenCall(part) && toolPart(part)?.state.startsWith("approval-") === true;
}

/** The result of a call in the fields of a part, given by a tool, a client or a person. */
export type GivenResult =
  | { readonly state: "output-available"; readonly output: unknown }
  | { readonly state: "output-error"; readonly errorText: string }
  | { readonly state: "output-denied"; readonly reason: string | null };

/** True when the part has a result but no input, so its call must be in another part. */
export function isBareResult(part: ToolPart): boolean {
  return hasResult(part) && part.input === undefined && !("rawInput" in part && part.rawInput !== undefined);
}

/** JSON for a prompt or a measure. Never throws and never prints `[object Object]`. Empty for `undefined`. */
export function jsonText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "";
}

/** Characters of a reference, digits and lower-case letters. 36^7 is more than 2^32. */
const LENGTH = 7;
const REFERENCE = new RegExp(`^@?([0-9a-z]{${LENGTH}})$`);

export function referenceTo(messageId: string): string {
  return `@${hashId(messageId).toString(36).padStart(LENGTH, "0")}`;
}

/** The hash of a reference to a message, with or without its `@`. Null for any other text. */
export function hashOf(reference: string): number | null {
  const [, digits] = REFERENCE.exec(reference) ?? [];
  const hash = digits === undefined ? Infinity : Number.parseInt(digits, 36);
  return hash < 2 ** 32 ? hash : null;
}

/**
 * A 32-bit hash of the id's UTF-16 units: FNV-1a with a finalizer that spreads ids which differ in the last digit.
 * Never 0.
 */
export function hashId(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return hash === 0 ? 1 : hash;
}

/** The message's parts by step. There is at least one step, possibly empty. Together they are exactly `message.parts`. */
export function messageSteps(message: UIMessage): readonly (readonly Part[])[] {
  if (message.role !== "assistant") return [message.parts];
  let current: Part[] = [];
  let started = false;
  const steps = [current];
  for (const part of message.parts) {
    if (part.type !== "step-start") {
      started = true;
    } else if (started) {
      current = [];
      started = false;
      steps.push(current);
    }
    current.push(part);
  }
  return steps;
}

/** The number of steps of the message, at least 1. */
export function stepCount(message: UIMessage): number {
  return messageSteps(message).length;
}

/**
 * The message with only the parts of steps `fromStep` to `toStep`, both included, under a synthetic id. Returns the
 * same object when that is the whole message. Steps past the end have no parts. Throws `invalid_range`.
 */
export function sliceMessage(message: UIMessage, fromStep: number, toStep: number): UIMessage {
  if (!Number.isInteger(fromStep) || !Number.isInteger(toStep) || fromStep < 0 || toStep < fromStep) {
    throw new PalimpsestError(
      "invalid_range",
      `Steps ${fromStep} to ${toStep} of message ${message.id} are no range: give integers with 0 <= fromStep <= toStep.`,
    );
  }
  const steps = messageSteps(message);
  const toEnd = toStep >= steps.length - 1;
  if (fromStep === 0 && toEnd) return message;
  return {
    ...message,
    id: sliceMessageId(message.id, fromStep, toEnd ? WHOLE_MESSAGE : toStep),
    parts: steps.slice(fromStep, toStep + 1).flat(),
  };
}

/** The beginning of an output that reports an error as text. */
const TELLS_ERROR =
  /^\W*(?:\w*(?:error|exception)\b|traceback|fatal|fail(?:ed|ure)?\b|panic|npm err!|(?:(?:command|process) )?(?:failed|exit(?:ed)?(?: with)?(?: code| status)?:? [1-9]))/i;
/** A field by which tools report that they failed, in an object as JSON without spaces, before anything that is inside another field. */
const FIELD_TELLS_ERROR =
  /^\{[^[{]*?"(?:(?:ok|success|applied|approved|accepted)":false|(?:is_?error|timed_?out|errors?)":(?:true|"[^"]|[[{][^\]}])|status(?:_?code)?":(?:"(?:error|fail|reject|denied|cancel)|[45]\d\d\b)|(?:exit_?(?:code|status)|return_?code)":"?-?[1-9]|type":"error-)/i;
/** What the first line of an answer says of a change: that it was made, what puts that in doubt, and that a file or a person did not let it. */
const DONE =
  /(?<!\b(?:not|n['’]t|never) (?:been |be |yet )?)\b(?:ok|true|done|success\w*|(?:over)?written|wrote|(?:updat|creat|sav|edit|replac|insert|add|delet|remov|mov|renam|approv)ed|applied)\b/i;
const DOUBT =
  /\b(?:no|nothing|not|cannot|0|would|dry.?run|preview|draft|proposed|false|pending|waiting|await\w*|skip\w*|conflict|fail\w*|error|unable|un\w+ed|dis\w+ed|reject\w*|declin\w*|cancel\w*|denied|block\w*|roll\w*|revert\w*)\b|n['’]t\b/i;
const UNREAD =
  /no such (?:file|dir)|not (?:be )?found|no (?:match|replacement)|(?:not|n['’]t) exist|permission denied|\be(?:noent|acces|perm|isdir)\b|is a directory|unchanged since/i;
const PERSON = /\buser\b.{0,40}?(?:reject|declin|denied|cancel|n['’]t want to)|ed by (?:the )?user/i;
/** A file's heading rather than an error, where more lines follow. */
const HEADING = /^(?:#|(?:error|exception|failure|panic)s? [^:\n]*\n)/i;
/** A longer text is no report. */
const MAX_REPORT_CHARS = 600;
/** Words that are paths, and fields without a value. */
const NO_WORDS = /"\w+":\s*(?:null|false|0|""|\[\])|[^\s"'`,;:(){}[\]]*\/[^\s"'`,;:(){}[\]]*/g;
const HEAD_CHARS = 200;
/** Longer than any word of a field that reports a failure. */
const WORD_CHARS = 12;
/** Fields in which one tool passes on the answer of another. */
const PASSED_ON = ["result", "output", "response", "data", "value"] as const;
/** The types of the items in a list of contents, as the AI SDK and MCP name them. */
const CONTENT_TYPE = /^(?:text|image|audio|media|file|custom|resource|resource_link|(?:image|file)-[\w-]+)$/;

/** Whether a tool's output reports that the tool failed, in a form that many tools have. */
export function tellsError(output: unknown): boolean {
  if (typeof output === "string") {
    const head = output.slice(0, HEAD_CHARS);
    return TELLS_ERROR.test(head) || FIELD_TELLS_ERROR.test(head.replaceAll(/\s/g, ""));
  }
  if (typeof output !== "object" || output === null) return false;
  const answer = contentOf(output)?.list.find(({ text }) => text !== undefined)?.text;
  if ((answer !== undefined && tellsError(answer)) || hasErrorField(output)) return true;
  return PASSED_ON.some((key) => tellsError(objectIn(output, key)));
}

/** Whether a field of an output reports a failure, whatever its texts say. */
export function hasErrorField(output: unknown): boolean {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return false;
  const fields = output as Record<string, unknown>;
  // As of Node's processes. Elsewhere a code may mean anything.
  if (Object.entries(fields).some(endedBadly) || ("stderr" in fields && Number(fields["code"]) > 0)) return true;
  return PASSED_ON.some((key) => hasErrorField(fields[key]));
}

function objectIn(output: object, key: string): unknown {
  const value: unknown = Array.isArray(output) ? null : (output as Record<string, unknown>)[key];
  return typeof value === "object" ? value : null;
}

/** Whether an answer plainly says that a change was made, or that it was not. The words of `paths` say nothing. */
export function changeResult(answer: string, paths: readonly string[]): "made" | "refused" | "unclear" {
  if (answer.trim() === "") return "made";
  const names = paths.flatMap((path) => [path, path.slice(path.lastIndexOf("/") + 1)]).filter((name) => name !== "");
  const line = names.reduce((text, name) => text.replaceAll(name, ""), firstLine(answer)).replaceAll(NO_WORDS, "");
  if (DONE.test(line)) return DOUBT.test(line) ? "unclear" : "made";
  return UNREAD.test(line) || PERSON.test(line) || tellsError(answer) ? "refused" : "unclear";
}

/** Whether an answer is the text that was asked for. Only one short line may report instead that a file was not read. */
export function readResult(answer: string): "text" | "unread" | "doubted" {
  const isLine = answer.length <= MAX_REPORT_CHARS && !answer.trim().includes("\n");
  if (isLine && UNREAD.test(answer)) return "unread";
  return (isLine && PERSON.test(answer)) || (tellsError(answer) && !HEADING.test(answer)) ? "doubted" : "text";
}

function firstLine(answer: string): string {
  return answer.trimStart().slice(0, HEAD_CHARS).split("\n", 1)[0] ?? "";
}

function endedBadly([field, value]: [string, unknown]): boolean {
  const isFilled = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  const answer = typeof value === "string" ? `"${value.slice(0, WORD_CHARS)}` : String(isFilled || value);
  return FIELD_TELLS_ERROR.test(`{"${field}":${answer}`);
}

interface Content {
  readonly type: string;
  readonly text?: unknown;
}

/** The list of contents in an output, under which key. Null for an output of another form. */
export function contentOf(
  output: object,
): { readonly key: "content" | "value" | null; readonly list: Content[] } | null {
  if (Array.isArray(output)) return isContent(output) ? { key: null, list: output } : null;
  const { type, value, content } = output as Record<"type" | "value" | "content", unknown>;
  if (type === "content" && isContent(value)) return { key: "value", list: value };
  return isContent(content) ? { key: "content", list: content } : null;
}

function isContent(value: unknown): value is Content[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((item: unknown) => CONTENT_TYPE.test(jsonText((item as { type?: unknown } | null)?.type)));
}

/** The text of an output: all texts of a list of contents, otherwise the longest text of an object. */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  if (typeof output !== "object" || output === null) return "";
  const { contents } = output as { contents?: unknown };
  const list: unknown = contentOf(output)?.list ?? contents;
  const texts = (Array.isArray(list) ? list.map((each: { text?: unknown } | null) => each?.text) : []).filter(isText);
  if (texts.length > 0) return texts.join("\n");
  return Object.values(output)
    .filter(isText)
    .reduce((longest, each) => (each.length > longest.length ? each : longest), "");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Bytes of a file per estimated token. */
const FILE_BYTES_PER_TOKEN = 4;

/** Most tokens counted for a file that is no image. Above it, providers reject or summarise the file. */
export const MAX_FILE_TOKENS = 20_000;

/** Characters from which a text is searched for a data URL, and from which one without a type counts as base64. */
const LEAST_URL_CHARS = 200;
const LEAST_BASE64_CHARS = 1_000;
/** Characters in which base64 of any file has letters of both cases and digits. */
const SAMPLE_CHARS = 1_000;

const DATA_URL = /data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+=[^\s;,"']*)*;base64,([\w+/=-]{100,})/g;
const BASE64 = /^[\w+/=-]+$/;
/** The fields that name the type of the bytes beside them, and of the item in a list of contents. */
const TYPE_FIELDS = ["mediaType", "mimeType", "media_type", "mime_type"] as const;
const UNKNOWN = "application/octet-stream";
/** The first characters of files in base64. */
const SIGNATURES: readonly (readonly [start: string, mediaType: string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
  ["JVBERi0", "application/pdf"],
];

export interface Bytes {
  readonly mediaType: string;
  /** The number of bytes. */
  readonly size: number;
  /** In base64. Empty where they are no text. */
  readonly data: string;
}

/** Whether a value holds bytes of a file. */
export function holdsBytes(value: unknown): boolean {
  return withoutBytes(value) !== value;
}

/** The value with a line in the place of bytes. In a list of contents that is a text. */
export function withoutBytes(value: unknown): unknown {
  return replaced(value, bytesLine);
}

/** Characters of the bytes in a value, once they are encoded. */
export function encodedChars(value: unknown): number {
  let chars = 0;
  replaced(value, ({ size }) => {
    chars += Math.ceil((size * 4) / 3);
    return "";
  });
  return chars;
}

/** Characters of all texts in a value, and of its bytes once they are encoded. Reads none of them. */
export function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (ArrayBuffer.isView(value)) return Math.ceil((value.byteLength * 4) / 3);
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, each) => sum + textLength(each), 0);
}

/** Estimated tokens of a value as a model is sent it: its JSON, and its bytes as files. */
export function valueTokens(value: unknown, count: (text: string) => number): number {
  let ofBytes = 0;
  const rest = replaced(value, (bytes) => {
    ofBytes += bytesTokens(bytes);
    return "";
  });
  return ofBytes + count(textOf(rest));
}

/** The bytes of one item in a list of contents. Null for an item without. */
export function bytesOf(item: unknown): Bytes | null {
  let found: Bytes | null = null;
  const rest = replaced(item, (bytes) => {
    found ??= bytes;
    return "";
  });
  return rest === item ? null : found;
}

/** Says what bytes were there. */
function bytesLine({ mediaType, size }: Bytes): string {
  return `[${mediaType}, ${Math.ceil(size / 1024)} KB, left out]`;
}

function bytesTokens({ mediaType, size, data }: Bytes): number {
  return mediaType.startsWith("image") ? imageTokens(`data:${mediaType};base64,${data}`) : fileTokensOf(size);
}

/** Tokens of a file that is no image, by its size. Null is a file elsewhere. */
export function fileTokensOf(bytes: number | null): number {
  return bytes === null ? IMAGE_TOKENS : Math.min(MAX_FILE_TOKENS, Math.ceil(bytes / FILE_BYTES_PER_TOKEN));
}

type Line = (bytes: Bytes) => string;

function replaced(value: unknown, line: Line, typed: string | null = null): unknown {
  if (typeof value === "string") return replacedText(value, line, typed);
  if (typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return line({ mediaType: typed ?? UNKNOWN, size: value.byteLength, data: "" });
  if (Array.isArray(value)) {
    const isContent = contentOf(value) !== null;
    return sameOr(
      value,
      value.map((each: unknown) => (isContent ? replacedItem(each, line) : replaced(each, line, typed))),
    );
  }
  const own = typeOf(value) ?? typed;
  let changed = false;
  const entries = Object.entries(value).map(([key, each]: [string, unknown]): [string, unknown] => {
    const inner = replaced(each, line, own);
    changed ||= inner !== each;
    return [key, inner];
  });
  return changed ? Object.fromEntries(entries) : value;
}

function sameOr(value: readonly unknown[], items: unknown[]): unknown {
  return items.every((item, at) => Object.is(item, value[at])) ? value : items;
}

/** An item with bytes becomes a text, because a provider refuses a text as a picture. */
function replacedItem(item: unknown, line: Line): unknown {
  const lines: string[] = [];
  const rest = replaced(item, (bytes) => {
    lines.push(line(bytes));
    return "";
  });
  const { type } = (item ?? {}) as { type?: unknown };
  if (rest === item) return item;
  return type === "text" ? replaced(item, () => lines.shift() ?? "") : { type: "text", text: lines.join(" ") };
}

function replacedText(text: string, line: Line, typed: string | null): string {
  if (text.length < LEAST_URL_CHARS) return text;
  if (text.includes(";base64,")) {
    return text.replaceAll(DATA_URL, (_url, mediaType: string | undefined, data: string) =>
      line(encoded(mediaType ?? UNKNOWN, data)),
    );
  }
  const isLong = text.length >= LEAST_BASE64_CHARS || typed !== null;
  if (!isLong || !looksEncoded(text)) return text;
  const known = SIGNATURES.find(([start]) => text.startsWith(start))?.[1];
  return line(encoded(typed ?? known ?? UNKNOWN, text));
}

function encoded(mediaType: string, data: string): Bytes {
  return { mediaType, size: Math.floor((data.length * 3) / 4), data };
}

/** Whether a text is base64. One long word is not. */
function looksEncoded(text: string): boolean {
  const sample = text.slice(0, SAMPLE_CHARS);
  return /[a-z]/.test(sample) && /[A-Z]/.test(sample) && /\d/.test(sample) && BASE64.test(text);
}

function typeOf(value: object): string | null {
  for (const field of TYPE_FIELDS) {
    const type: unknown = (value as Record<string, unknown>)[field];
    if (typeof type === "string" && type.includes("/")) return type;
  }
  return null;
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

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
  // A provider's summary that only it can read.
  return part.type === "custom" ? valueTokens(part.providerMetadata, count) : 0;
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

/** In place of a file's bytes, where they were left out ({@link leanMessage}). */
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

/** A shorter data URL is kept. */
const LEAST_LEFT_OUT_CHARS = 1_000;

/** The same object where nothing is left out. */
export function leanMessage(message: UIMessage): UIMessage {
  const parts = message.parts.map(lighter);
  const metadata = withoutLargeFields(message.metadata);
  const isSame = metadata === message.metadata && parts.every((part, at) => part === message.parts[at]);
  return isSame ? message : { ...message, metadata, parts };
}

/** What marks a message, such as its speaker, its time and what it brings along, is short. Our own field is always kept. */
function withoutLargeFields(metadata: unknown): unknown {
  if (typeof metadata !== "object" || metadata === null) return metadata;
  const fields = Object.entries(metadata);
  const kept = fields.filter(
    ([name, value]) => name === RESERVED_METADATA || jsonText(value).length < LEAST_LEFT_OUT_CHARS,
  );
  return kept.length === fields.length ? metadata : Object.fromEntries(kept);
}

function lighter(part: Part): Part {
  if (part.type.startsWith("data-")) return { ...part, data: null } as Part;
  if (part.type === "file" || part.type === "reasoning-file") {
    const url = fieldText(part.url);
    return url.length < LEAST_LEFT_OUT_CHARS || !url.startsWith("data:") ? part : { ...part, url: standIn(url) };
  }
  if (part.type === "steering-message") return { ...part, parts: innerParts(part).map(lighter) } as Part;
  const tool = toolPart(part);
  if (tool === null) return part;
  const [input, output] = [withoutBytes(tool.input), withoutBytes(tool.output)];
  return input === tool.input && output === tool.output ? part : ({ ...part, input, output } as Part);
}

/** {@link fileBytes} reads the size of the file from it. */
function standIn(url: string): string {
  return `data:;bytes=${fileBytes(url) ?? 0},`;
}

/** Characters of a session's title, which is one line of a list. */
const TITLE_CHARS = 60;

/** Characters read of a text, because a message may have millions. */
const READ_CHARS = 1_000;

/** Splits a text into characters as a reader sees them: a letter with its accents, a flag, an emoji of several people. */
const characters = lazy(() => new Intl.Segmenter("en", { granularity: "grapheme" }));

/** The message's text in one line of at most {@link TITLE_CHARS} characters, cut between words. Null when it has no text. */
export function titleOf(message: UIMessage): string | null {
  const text = textsOf(message.parts).join(" ");
  const start = text.trimStart().slice(0, READ_CHARS).toWellFormed();
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  if (line === "") return null;
  const shown = Array.from(characters().segment(line), ({ segment }) => segment);
  if (shown.length <= TITLE_CHARS) return line;
  const kept = shown.slice(0, TITLE_CHARS).join("");
  const space = kept.lastIndexOf(" ");
  // One long word (an address, a script without spaces) is cut at the limit.
  const cut = space < kept.length / 2 ? shown.slice(0, TITLE_CHARS - 1).join("") : kept.slice(0, space);
  return `${cut}…`;
}
