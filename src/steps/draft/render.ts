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
 * `[#n role]` opens a message. The role is system, user, assistant, or summary for the text of an earlier overlay. The
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
import { fileBytes } from "../message/measure.ts";
import {
  fieldText,
  hasResult,
  innerParts,
  isBareResult,
  jsonText,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../message/tool-parts.ts";

/**
 * Characters of one tool output in the summariser's prompt. Its start and end show the result of the call. Names are gathered from the
 * whole output, so a shorter excerpt loses no name (docs/decisions/0014).
 */
export const RENDER_TOOL_CHARS = 1_000;

/** Characters of one text in the summariser's prompt. The middle of a long paste rarely matters. */
export const RENDER_TEXT_CHARS = 16_000;

/** Characters shown of one reasoning part. Its result is in the reply. */
const RENDER_REASONING_CHARS = 1_000;

export type TranscriptElement =
  | { readonly kind: "message"; readonly message: UIMessage }
  | { readonly kind: "overlay"; readonly summary: string };

export interface RenderOptions {
  /** Characters shown of one tool input or output, of one text, and of one reasoning part. */
  readonly toolChars?: number;
  readonly textChars?: number;
  readonly reasoningChars?: number;
  /** Limit in characters for the whole. The limits above are lowered until it fits. Defaults to no limit. */
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
  /** Characters of an earlier summary. A long one without a limit would leave no room for messages. */
  readonly summary: number;
  readonly tool: number;
  readonly text: number;
  readonly reasoning: number;
}

const KINDS = "text|reasoning|call|result|error|denied|unanswered|file|source|meanwhile";
const MESSAGE_LINE = /^\[#(\d+) (system|user|assistant|summary)\]$/;
const NEXT_MESSAGE = /\n\[#\d+ (?:system|user|assistant|summary)\](?=\n|$)/;
const BLOCK_LINE = new RegExp(`^\\[(${KINDS})(?: ([^\\[\\]]*))?\\]$`);
/** All characters that display as a new line, though only "\n" is one here. */
const BREAKS = "\\n\\v\\f\\r\\u0085\\u2028\\u2029";
/** The places for a backslash: before text that a reader could take for an opening line, including existing backslashes. */
const LOOKALIKE = `\\\\*[ \\t]*\\[[ \\t]*(?:#[ \\t]*\\d+[ \\t]+(?:system|user|assistant|summary)\\b|(?:${KINDS})(?: [^\\[\\]${BREAKS}]*)?[ \\t]*\\][ \\t]*(?![^${BREAKS}]))`;
const UNESCAPED = new RegExp(`(?<![^${BREAKS}])(?=${LOOKALIKE})`, "gi");
const ESCAPED = new RegExp(`(?<![^${BREAKS}])\\\\(?=${LOOKALIKE})`, "gi");
/** Below this many characters a shorter rendering would say nothing. */
const LEAST_CHARS = 120;

/** Renders messages and earlier summaries, oldest first. Empty for no elements. */
export function renderTranscript(elements: readonly TranscriptElement[], options: RenderOptions = {}): string {
  const limits = {
    tool: options.toolChars ?? RENDER_TOOL_CHARS,
    text: options.textChars ?? RENDER_TEXT_CHARS,
    reasoning: options.reasoningChars ?? RENDER_REASONING_CHARS,
  };
  const maxChars = options.maxChars ?? Infinity;
  for (let share = 1; ; share /= 2) {
    const lowered = {
      summary: maxChars * share,
      tool: limits.tool * share,
      text: limits.text * share,
      reasoning: limits.reasoning * share,
    };
    const text = renderWithin(elements, lowered);
    if (text.length <= maxChars) return text;
    if (lowered.text < LEAST_CHARS) return cutMessages(text, maxChars);
  }
}

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
  for (const line of transcript.split("\n")) {
    const opened = MESSAGE_LINE.exec(line);
    const blocks = messages.at(-1)?.blocks;
    if (opened !== null) {
      messages.push({ index: Number(opened[1]), role: opened[2] as RenderedMessage["role"], blocks: [] });
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

function renderWithin(elements: readonly TranscriptElement[], limits: Limits): string {
  return elements
    .map((element, at) => {
      if (element.kind === "overlay")
        return `[#${at + 1} summary]\n${escapeLines(cutMiddle(element.summary.trim(), limits.summary))}`;
      const { role, parts } = element.message;
      const blocks = parts.flatMap((part) => renderPart(part, limits));
      const lines = blocks.map((block, n) => (n === 0 ? block.replace(/^\[text\]\n/, "") : block));
      return [`[#${at + 1} ${role}]`, ...lines].join("\n");
    })
    .join("\n\n");
}

function renderPart(part: Part, limits: Limits): string[] {
  const tool = toolPart(part);
  if (tool !== null) return renderTool(tool, limits.tool);
  if (part.type === "text" || part.type === "reasoning")
    return block(part.type, fieldText(part.text), limits[part.type]);
  if (part.type === "file" || part.type === "reasoning-file") return [fileLine(part)];
  if (part.type === "source-url") {
    return block("source", `${fieldText(part.url)} ${fieldText(part.title)}`, limits.tool);
  }
  if (part.type === "source-document") return block("source", fieldText(part.title), limits.tool);
  if (part.type !== "steering-message") return [];
  return innerParts(part).flatMap((each) =>
    each.type === "text" ? block("meanwhile", fieldText(each.text), limits.text) : renderPart(each, limits),
  );
}

function renderTool(part: ToolPart, limit: number): string[] {
  const name = word(toolName(part));
  const whole = `${name} ${word(part.toolCallId)}`;
  if (!hasResult(part)) return [opening(`call ${whole}`, jsonText(part.input), limit), `[unanswered]`];
  if (isBareResult(part)) return [openResult(part, ` ${whole}`, limit)];
  return [opening(`call ${name}`, jsonText(part.input), limit), openResult(part, "", limit)];
}

function openResult(part: ToolPart, label: string, limit: number): string {
  if (part.state === "output-error") return opening(`error${label}`, fieldText(part.errorText), limit);
  if (part.state === "output-available") return opening(`result${label}`, jsonText(part.output), limit);
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
