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
 * behind it says who spoke and when, where the message's metadata does. The
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
  jsonText,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../message/message.ts";
import { isSummary } from "../view/view.ts";

/** Characters shown of one reasoning part. Its result is in the reply. */
const RENDER_REASONING_CHARS = 1_000;

/** Results at the end of a transcript that are shortened last, because the next step hangs on them. */
const NEWEST = 3;

export type TranscriptElement =
  | { readonly kind: "message"; readonly message: UIMessage }
  | { readonly kind: "overlay"; readonly summary: string };

/** A stored message as it is rendered. A summary is nobody's own words. Its text begins with its frame in brackets. */
export function elementOf(message: UIMessage): TranscriptElement {
  const [part] = message.parts;
  if (!isSummary(message) || part?.type !== "text") return { kind: "message", message };
  const text = fieldText(part.text);
  return { kind: "overlay", summary: text.slice(text.indexOf("]\n\n") + 1) };
}

export interface RenderOptions {
  /** Characters shown of one tool input or output, of one text, and of one reasoning part. By default all but reasoning is whole. */
  readonly toolChars?: number;
  readonly textChars?: number;
  readonly reasoningChars?: number;
  /** Limit in characters for the whole. Where it is exceeded, the largest parts are cut to one size, the newest results last. */
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
const SPEAKER_LINE = /^\((?:[^\s()[\]]{1,60}(?:, \d{4}-\d\d-\d\dT\d\d:\d\d)?)\)$/;
const BLOCK_LINE = new RegExp(`^\\[(${KINDS})(?: ([^\\[\\]]*))?\\]$`);
/** All characters that display as a new line, though only "\n" is one here. */
const BREAKS = "\\n\\v\\f\\r\\u0085\\u2028\\u2029";
/** The places for a backslash: before text that a reader could take for an opening line, including existing backslashes. */
const LOOKALIKE = `\\\\*[ \\t]*\\[[ \\t]*(?:#[ \\t]*\\d+[ \\t]+(?:system|user|assistant|summary)\\b|(?:${KINDS})(?: [^\\[\\]${BREAKS}]*)?[ \\t]*\\][ \\t]*(?![^${BREAKS}]))|\\\\*[ \\t]*\\([^\\s()[\\]]{1,60}(?:, [\\dT:-]{16})?\\)[ \\t]*(?![^${BREAKS}])`;
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
  const whole = renderWithin(elements, { ...most, any: Infinity, newest: Infinity });
  if (whole.length <= maxChars) return whole;
  // The one size at which all fit. So the largest parts give most, and small ones stay whole.
  for (const share of [1, SHARE_OF_NEWEST]) {
    const at = (any: number): string =>
      renderWithin(elements, { ...most, any, newest: share === 1 ? Infinity : any * share });
    let [fits, over] = [LEAST_CHARS, maxChars];
    if (at(fits).length > maxChars) continue;
    while (over - fits > Math.max(LEAST_CHARS, fits / 50)) {
      const middle = Math.floor((fits + over) / 2);
      if (at(middle).length <= maxChars) fits = middle;
      else over = middle;
    }
    return at(fits);
  }
  return cutMessages(renderWithin(elements, { ...most, any: LEAST_CHARS, newest: LEAST_CHARS }), maxChars);
}

/** Where even the newest must be cut, they may be so much longer than the others. */
const SHARE_OF_NEWEST = 8;

/** Cuts the middle out of a text longer than `limit` characters. A line in the gap says how much is missing. */
export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const budget = Math.max(0, Math.floor(limit) - 40);
  const head = wholeCharacters(text, 0, Math.ceil(budget * 0.6));
  const tail = wholeCharacters(text, text.length - Math.floor(budget * 0.4), text.length);
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/**
 * Like {@link cutMiddle}, in whole lines. The text after the gap begins with a message line, because it would otherwise
 * seem to belong to the message before the gap.
 */
function cutMessages(transcript: string, limit: number): string {
  if (transcript.length <= limit) return transcript;
  const budget = Math.max(0, Math.floor(limit) - 40);
  const start = wholeCharacters(transcript, 0, Math.ceil(budget * 0.6));
  const head = start.slice(0, Math.max(0, start.lastIndexOf("\n")));
  const rest = transcript.slice(transcript.length - Math.floor(budget * 0.4));
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

function renderWithin(elements: readonly TranscriptElement[], most: Omit<Limits, "same">): string {
  const limits = { ...most, same: findRepeated(elements) };
  const newest = newestResults(elements);
  return elements
    .map((element, at) => {
      if (element.kind === "overlay")
        return `[#${at + 1} summary]\n${escapeLines(cutMiddle(element.summary.trim(), limits.any))}`;
      const { role, parts } = element.message;
      const blocks = parts.flatMap((part) =>
        renderPart(part, newest.has(part) ? { ...limits, any: limits.newest } : limits),
      );
      const lines = blocks.map((block, n) => (n === 0 ? block.replace(/^\[text\]\n/, "") : block));
      return [`[#${at + 1} ${role}]`, ...speakerOf(element.message), ...lines].join("\n");
    })
    .join("\n\n");
}

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
  const results = elements.flatMap((element) =>
    element.kind === "overlay"
      ? []
      : element.message.parts.filter((part) => {
          const tool = toolPart(part);
          return tool !== null && hasResult(tool);
        }),
  );
  return new Set(results.slice(-NEWEST));
}

/** Fields of a message's metadata that say who spoke, and when. */
const SPEAKER = ["name", "author", "speaker", "sender", "agentName"] as const;
const TIME = ["createdAt", "timestamp", "time", "date"] as const;

/** A line with the speaker and the time, where the message's metadata has them. */
function speakerOf({ metadata }: UIMessage): string[] {
  if (typeof metadata !== "object" || metadata === null) return [];
  const fields = metadata as Readonly<Record<string, unknown>>;
  const speaker = SPEAKER.map((name) => fields[name]).find((each) => typeof each === "string" && each !== "");
  const value = TIME.map((name) => fields[name]).find((each) => each !== undefined && each !== null);
  const said = timeOf(value);
  const name = typeof speaker === "string" ? word(wholeCharacters(speaker, 0, 60)).replaceAll(/[()]+/g, "_") : "";
  const told = [name, /^\d{4}-/.test(said) ? said : ""].filter((each) => each !== "");
  return told.length === 0 ? [] : [`(${told.join(", ")})`];
}

/** A given time as ISO 8601 up to the minute. Empty for none. */
function timeOf(value: unknown): string {
  // oxlint-disable-next-line no-restricted-globals -- It reads a time that was given, and asks for none.
  const time = typeof value === "number" || typeof value === "string" ? new Date(value) : value;
  // oxlint-disable-next-line no-restricted-globals -- As above.
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString().slice(0, 16) : "";
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
