/**
 * Renders the transcript for the summariser, in plain lines with one block per message part.
 *
 *     [#1 user]
 *     Please fix the build.
 *
 *     [#2 assistant]
 *     I will look at it first.
 *     [call read]
 *     {"path":"src/main.ts"}
 *     [error]
 *     No such file.
 *
 * `[#n role]` opens a message. The role is system, user, assistant, or summary for the text of an earlier overlay. A line `(name, time)`
 * behind it says who spoke and when, where the message's metadata does. A message that a harness wrote in the user's name says so there. The
 * other bracketed lines open a part of the message. Text right after a message line needs none. The result of a call
 * follows it without name and id. Both lines name them only where call and result are apart, because no reader needs an
 * id and it would be paid for twice. The lines after an opening line are its content. A content line that a model could
 * take for an opening line (also indented, in capitals, or after any line-breaking character) gets a backslash in
 * front. So no text of the conversation can pose as another message. {@link parseTranscript} reads the transcript back.
 *
 * Two things are left out on purpose: the middle of a text over its limit (the gap says how much), and parts that
 * models never see.
 */
import type { FileUIPart, UIMessage } from "ai";
import {
  withoutBytes,
  fileBytes,
  fieldText,
  hasResult,
  innerParts,
  isBareResult,
  isOfHarness,
  jsonText,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../message/message.ts";
import { isSummary, RECORD_END } from "../view/view.ts";

/** Characters shown of one reasoning part. Its result is in the reply. */
const RENDER_REASONING_CHARS = 1_000;

/** Results at the end of a transcript that are shortened last, because the next step hangs on them. */
const NEWEST = 3;

export type TranscriptElement =
  | { readonly kind: "message"; readonly message: UIMessage }
  | { readonly kind: "overlay"; readonly summary: string };

/** A stored message as it is rendered. A summary is nobody's own words. Its text stands between a frame in brackets and its last line. */
export function elementOf(message: UIMessage): TranscriptElement {
  const [part] = message.parts;
  if (!isSummary(message) || part?.type !== "text") return { kind: "message", message };
  const text = fieldText(part.text);
  const end = text.endsWith(RECORD_END) ? -RECORD_END.length : text.length;
  return { kind: "overlay", summary: text.slice(text.indexOf("]\n\n") + 1, end) };
}

export interface RenderOptions {
  /** Characters shown of one tool input or output, of one text, and of one reasoning part. By default all but reasoning is whole. */
  readonly toolChars?: number;
  readonly textChars?: number;
  readonly reasoningChars?: number;
  /** Limit in characters for the whole. Where it is exceeded, the largest parts are cut to one size, and the newest results only where nothing else can give. */
  readonly maxChars?: number;
}

type BlockKind =
  | "text"
  | "reasoning"
  | "call"
  | "result"
  | "error"
  | "denied"
  | "unanswered"
  | "file"
  | "source"
  | "meanwhile";

/** One parsed block. `name` and `id` belong to a tool and are empty for other kinds. A file's `name` is its description. */
export interface Block {
  readonly kind: BlockKind;
  readonly name: string;
  readonly id: string;
  readonly text: string;
}

export interface RenderedMessage {
  readonly index: number;
  readonly role: "system" | "user" | "assistant" | "summary";
  readonly blocks: readonly Block[];
}

interface Limits {
  readonly tool: number;
  readonly text: number;
  readonly reasoning: number;
  /** Most characters of any part, and of those at the end. */
  readonly any: number;
  readonly newest: number;
  /** Results that came before, with the number of their message. */
  readonly same: ReadonlyMap<Part, number>;
}

const KINDS = "text|reasoning|call|result|error|denied|unanswered|file|source|meanwhile";
const MESSAGE_LINE = /^\[#(\d+) (system|user|assistant|summary)\]$/;
const NEXT_MESSAGE = /\n\[#\d+ (?:system|user|assistant|summary)\](?=\n|$)/;
/** Who spoke, and when. */
const SPEAKER_LINE = /^\((?:harness, not the user|[^\s()[\]]{1,60})(?:, \d{4}-\d\d-\d\dT\d\d:\d\d)?\)$/;
const BLOCK_LINE = new RegExp(`^\\[(${KINDS})(?: ([^\\[\\]]*))?\\]$`);
/** All characters that display as a new line, though only "\n" is one here. */
const BREAKS = "\\n\\v\\f\\r\\u0085\\u2028\\u2029";
/** The places for a backslash: before text that a reader could take for an opening line, including existing backslashes. */
const LOOKALIKE = `\\\\*[ \\t]*\\[[ \\t]*(?:#[ \\t]*\\d+[ \\t]+(?:system|user|assistant|summary)\\b|(?:${KINDS})(?: [^\\[\\]${BREAKS}]*)?[ \\t]*\\][ \\t]*(?![^${BREAKS}]))|\\\\*[ \\t]*\\((?:harness, not the user|[^\\s()[\\]]{1,60})(?:, [\\dT:-]{16})?\\)[ \\t]*(?![^${BREAKS}])`;
const UNESCAPED = new RegExp(`(?<![^${BREAKS}])(?=${LOOKALIKE})`, "gi");
const ESCAPED = new RegExp(`(?<![^${BREAKS}])\\\\(?=${LOOKALIKE})`, "gi");
/** Below this many characters a shorter rendering would say nothing. */
const LEAST_CHARS = 120;

/** Renders messages and earlier summaries, oldest first. Empty for no elements. */
export function renderTranscript(elements: readonly TranscriptElement[], options: RenderOptions = {}): string {
  const most = {
    tool: options.toolChars ?? Infinity,
    text: options.textChars ?? Infinity,
    reasoning: options.reasoningChars ?? RENDER_REASONING_CHARS,
  };
  const maxChars = options.maxChars ?? Infinity;
  const render = (any: number, newest = Infinity): string[] => renderWithin(elements, { ...most, any, newest });
  const whole = join(render(Infinity));
  if (whole.length <= maxChars) return whole;
  // The one size at which all fit. So the largest parts give most, and small ones stay whole.
  const any = largest(maxChars, (size) => join(render(size)).length <= maxChars);
  if (any !== null) return join(render(any));
  const first = Math.max(
    0,
    elements.findIndex((element) => resultsOf(element).some((part) => newestResults(elements).has(part))),
  );
  const closing = (newest: number): number => join(render(LEAST_CHARS, newest).slice(first)).length;
  const before = join(render(LEAST_CHARS)).length - closing(Infinity);
  const room = Math.max(maxChars * MOST_OF_NEWEST, maxChars - before) - GAP_CHARS;
  // Where the newest results have room, messages before them are left out. Otherwise they are cut as well, and are the largest.
  let newest = Infinity;
  if (closing(newest) > room) {
    const other = largest(maxChars, (size) => join(render(size, size * SHARE_OF_NEWEST)).length <= maxChars);
    if (other !== null) return join(render(other, other * SHARE_OF_NEWEST));
    newest = largest(maxChars, (size) => closing(size) <= room) ?? LEAST_CHARS;
  }
  return cutMessages(join(render(LEAST_CHARS, newest)), maxChars, closing(newest));
}

/** The newest results are cut where they take more than this of the whole, and may then be so much longer than the others. */
const MOST_OF_NEWEST = 3 / 4;
const SHARE_OF_NEWEST = 8;
/** Characters that a mark of what is left out takes. */
const GAP_CHARS = 40;

/** About the largest size that fits. Null where the least one does not. */
function largest(most: number, isWithin: (size: number) => boolean): number | null {
  let [fits, over] = [LEAST_CHARS, most];
  if (!isWithin(fits)) return null;
  while (over - fits > Math.max(LEAST_CHARS, fits / 50)) {
    const middle = Math.floor((fits + over) / 2);
    if (isWithin(middle)) fits = middle;
    else over = middle;
  }
  return fits;
}

function join(messages: readonly string[]): string {
  return messages.join("\n\n");
}

/** Cuts the middle out of a text longer than `limit` characters. A line in the gap says how much is missing. */
export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const budget = Math.max(0, Math.floor(limit) - GAP_CHARS);
  const head = wholeCharacters(text, 0, Math.ceil(budget * 0.6));
  const tail = wholeCharacters(text, text.length - Math.floor(budget * 0.4), text.length);
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/**
 * Like {@link cutMiddle}, in whole lines, and with the last `closing` characters where they have room. The text after the gap begins with a
 * message line, because it would otherwise seem to belong to the message before the gap.
 */
function cutMessages(transcript: string, limit: number, closing: number): string {
  if (transcript.length <= limit) return transcript;
  const budget = Math.max(0, Math.floor(limit) - GAP_CHARS);
  // With the line break before its first message.
  const end = Math.min(budget, Math.max(Math.floor(budget * 0.4), closing + 1));
  const start = wholeCharacters(transcript, 0, Math.min(budget - end, Math.ceil(budget * 0.6)));
  const head = start.slice(0, Math.max(0, start.lastIndexOf("\n")));
  const rest = transcript.slice(transcript.length - end);
  const opening = rest.search(NEXT_MESSAGE);
  const tail = opening === -1 ? "" : rest.slice(opening);
  return `${head}\n[… ${transcript.length - head.length - tail.length} characters left out …]${tail}`;
}

/** Parses a rendered transcript, block by block. Ignores lines before the first message. */
export function parseTranscript(transcript: string): readonly RenderedMessage[] {
  const messages: {
    index: number;
    role: RenderedMessage["role"];
    blocks: (Omit<Block, "text"> & { lines: string[] })[];
  }[] = [];
  let isOpening = false;
  for (const line of transcript.split("\n")) {
    const saysWho = isOpening && SPEAKER_LINE.test(line);
    isOpening = false;
    if (saysWho) continue;
    const opened = MESSAGE_LINE.exec(line);
    const blocks = messages.at(-1)?.blocks;
    if (opened !== null) {
      messages.push({ index: Number(opened[1]), role: opened[2] as RenderedMessage["role"], blocks: [] });
      isOpening = true;
      continue;
    }
    if (blocks === undefined) continue;
    const [, kind, label = ""] = BLOCK_LINE.exec(line) ?? [];
    if (kind !== undefined) {
      const [name = "", id = ""] = kind === "file" ? [label] : label.split(" ");
      blocks.push({ kind: kind as BlockKind, name, id, lines: [] });
    } else {
      if (blocks.length === 0) blocks.push({ kind: "text", name: "", id: "", lines: [] });
      blocks.at(-1)?.lines.push(line);
    }
  }
  return messages.map(({ index, role, blocks }) => ({
    index,
    role,
    blocks: blocks.map(({ lines, ...block }) => ({
      ...block,
      text: lines.join("\n").replaceAll(ESCAPED, "").trimEnd(),
    })),
  }));
}

function renderWithin(elements: readonly TranscriptElement[], most: Omit<Limits, "same">): string[] {
  const limits = { ...most, same: findRepeated(elements) };
  const newest = newestResults(elements);
  // What a newest result repeats may be cut.
  const ofNewest = { ...limits, any: limits.newest, same: limits.any === Infinity ? limits.same : NONE };
  return elements.map((element, at) => {
    if (element.kind === "overlay")
      return `[#${at + 1} summary]\n${escapeLines(cutMiddle(element.summary.trim(), limits.any))}`;
    const { role, parts } = element.message;
    const blocks = parts.flatMap((part) => renderPart(part, newest.has(part) ? ofNewest : limits));
    const lines = blocks.map((block, n) => (n === 0 ? block.replace(/^\[text\]\n/, "") : block));
    return [`[#${at + 1} ${role}]`, ...speakerOf(element.message), ...lines].join("\n");
  });
}

const NONE: ReadonlyMap<Part, number> = new Map();

/** Shorter results are written again. */
const REPEATED_CHARS = 200;

/** Results that came before, word for word, with the number of the message that has the first. A loop would be read once for each turn. */
function findRepeated(elements: readonly TranscriptElement[]): ReadonlyMap<Part, number> {
  const first = new Map<string, number>();
  const same = new Map<Part, number>();
  for (const [at, element] of elements.entries()) {
    for (const part of element.kind === "overlay" ? [] : element.message.parts) {
      const tool = toolPart(part);
      const text = tool?.state === "output-available" ? jsonText(tool.output) : "";
      if (text.length < REPEATED_CHARS) continue;
      const known = first.get(text);
      if (known === undefined) first.set(text, at + 1);
      else same.set(part, known);
    }
  }
  return same;
}

/** The parts with the last results of tools. */
function newestResults(elements: readonly TranscriptElement[]): ReadonlySet<Part> {
  return new Set(elements.flatMap(resultsOf).slice(-NEWEST));
}

function resultsOf(element: TranscriptElement): Part[] {
  if (element.kind === "overlay") return [];
  return element.message.parts.filter((part) => {
    const tool = toolPart(part);
    return tool !== null && hasResult(tool);
  });
}

/** Fields of a message's metadata that say who spoke, and when, without case and strokes. The first that has a value holds. */
const SPEAKER = ["name", "author", "speaker", "sender", "agentname", "displayname", "username", "user", "from"];
const TIME = ["createdat", "timestamp", "time", "date", "sentat", "receivedat", "ts"];
/** The field in which chat interfaces keep an application's own. */
const OWN_FIELDS = "custom";
const OF_HARNESS = "harness, not the user";

/** A line with the speaker and the time, where the message's metadata has them. */
function speakerOf(message: UIMessage): string[] {
  const { metadata } = message;
  const speaker = wholeCharacters(readField(metadata, SPEAKER, nameIn), 0, 60);
  const named = speaker === "" ? "" : word(speaker).replaceAll(/[()]+/g, "_");
  const name = message.role === "user" && isOfHarness(message) ? OF_HARNESS : named;
  const told = [name, readField(metadata, TIME, timeOf)].filter((each) => each !== "");
  return told.length === 0 ? [] : [`(${told.join(", ")})`];
}

/** What `read` makes of the first of the named fields in which it finds something. Empty for none. */
function readField(metadata: unknown, names: readonly string[], read: (value: unknown) => string): string {
  if (typeof metadata !== "object" || metadata === null) return "";
  const fields = new Map(
    Object.entries(metadata).map(([key, value]) => [key.toLowerCase().replaceAll(/[_-]/g, ""), value as unknown]),
  );
  const found = names.map((name) => read(fields.get(name))).find((each) => each !== "");
  return found ?? readField(fields.get(OWN_FIELDS), names, read);
}

/** A name, or the one that a user's own record has. */
function nameIn(value: unknown): string {
  return typeof value === "string"
    ? value.trim()
    : readField(value, SPEAKER, (inner) => (typeof inner === "string" ? inner.trim() : ""));
}

/** Times before 1973 in seconds are other numbers, such as a place in a recording. More than milliseconds until 5138 are in a smaller unit. */
const LEAST_SECONDS = 1e8;
const MOST_SECONDS = 1e11;
const MOST_MILLISECONDS = 1e14;
const MOST_NANOSECONDS = 1e20;

/** A given time as ISO 8601 up to the minute. A number is in seconds, or in a smaller unit where it is larger. Empty for none. */
function timeOf(value: unknown): string {
  if (typeof value === "string" && /^\d{9,20}(?:\.\d{1,9})?$/.test(value)) return timeOf(Number(value));
  let given = value;
  if (typeof given === "number") {
    if (!(given >= LEAST_SECONDS && given < MOST_NANOSECONDS)) return "";
    while (given > MOST_MILLISECONDS) given /= 1_000;
    if (given < MOST_SECONDS) given *= 1_000;
  }
  // oxlint-disable-next-line no-restricted-globals -- It reads a time that was given, and asks for none.
  const time = typeof given === "number" || typeof given === "string" ? new Date(given) : given;
  // oxlint-disable-next-line no-restricted-globals -- As above.
  const told = time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : "";
  return /^\d{4}-/.test(told) ? told.slice(0, 16) : "";
}

function renderPart(part: Part, { any, ...each }: Limits): string[] {
  const limits = {
    tool: Math.min(any, each.tool),
    text: Math.min(any, each.text),
    reasoning: Math.min(any, each.reasoning),
  };
  const tool = toolPart(part);
  if (tool !== null) return renderTool(tool, limits.tool, each.same.get(part));
  if (part.type === "text" || part.type === "reasoning")
    return block(part.type, fieldText(part.text), limits[part.type]);
  if (part.type === "file" || part.type === "reasoning-file") return [fileLine(part)];
  if (part.type === "source-url") {
    return block("source", `${fieldText(part.url)} ${fieldText(part.title)}`, limits.tool);
  }
  if (part.type === "source-document") return block("source", fieldText(part.title), limits.tool);
  if (part.type !== "steering-message") return [];
  return innerParts(part).flatMap((inner) =>
    inner.type === "text"
      ? block("meanwhile", fieldText(inner.text), limits.text)
      : renderPart(inner, { ...each, any, newest: each.newest }),
  );
}

function renderTool(part: ToolPart, limit: number, same: number | undefined): string[] {
  const name = word(toolName(part));
  const whole = `${name} ${word(part.toolCallId)}`;
  if (!hasResult(part)) return [opening(`call ${whole}`, jsonText(part.input), limit), `[unanswered]`];
  const label = isBareResult(part) ? ` ${whole}` : "";
  const result =
    same === undefined ? openResult(part, label, limit) : `[result${label}]\n(the same as the result in #${same})`;
  return label === "" ? [opening(`call ${name}`, jsonText(part.input), limit), result] : [result];
}

function openResult(part: ToolPart, label: string, limit: number): string {
  if (part.state === "output-error") return opening(`error${label}`, fieldText(part.errorText), limit);
  if (part.state === "output-available") return opening(`result${label}`, jsonText(withoutBytes(part.output)), limit);
  return opening(`denied${label}`, fieldText(part.approval?.reason), limit);
}

function block(kind: BlockKind, text: string, limit: number): string[] {
  return text.trim() === "" ? [] : [opening(kind, text, limit)];
}

function opening(header: string, text: string, limit: number): string {
  const content = cutMiddle(text.trimEnd(), limit);
  return content === "" ? `[${header}]` : `[${header}]\n${escapeLines(content)}`;
}

function fileLine(file: Pick<FileUIPart, "url" | "mediaType" | "filename">): string {
  const bytes = fileBytes(fieldText(file.url));
  const size = bytes === null ? "" : ` ${Math.ceil(bytes / 1024)} KB`;
  const filename = fieldText(file.filename);
  const name = filename === "" ? "" : ` ${filename}`;
  return `[file ${`${fieldText(file.mediaType)}${size}${name}`.replaceAll(/[[\]\r\n]+/g, "_")}]`;
}

/** Puts a backslash before each line that would open a message or a part of one. */
export function escapeLines(text: string): string {
  return text.replaceAll(UNESCAPED, "\\");
}

/** A name or an id as one word without brackets. */
function word(text: string): string {
  return text.replaceAll(/[\s[\]]+/g, "_") || "_";
}

/** A slice that does not begin or end inside a surrogate pair. */
export function wholeCharacters(text: string, from: number, to: number): string {
  const start = isLowSurrogate(text, from) ? from + 1 : from;
  const end = isLowSurrogate(text, to) ? to - 1 : to;
  return text.slice(start, Math.max(start, end));
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
