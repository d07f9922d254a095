/**
 * How many pictures and documents a model's provider takes, and how large. It refuses the whole prompt for one more, at every later turn.
 *
 * The oldest that are too many become a line that says what was there. They go a third of the number at a time, so that a prompt's beginning
 * seldom changes, and the newest stays. docs/views.md has a table of them.
 */
import type { FileUIPart, ModelMessage } from "ai";
import { leftOut } from "../fit/lighten.ts";
import { textLength, textPart } from "../steps/message/message.ts";
import { imageSize } from "../steps/tokens/image-tokens.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Bedrock's ids of a model need not tell it, and its other models take no more. */
const CLAUDE = /claude|anthropic|bedrock/;
/** Most pictures of a request. */
const MOST_PICTURES: readonly (readonly [model: RegExp, most: number])[] = [
  [/^groq\b/, 5],
  [/^mistral\b/, 8],
  [/^azure/, 50],
  [CLAUDE, 100],
  [/^openai/, 500],
  [/google|gemini|vertex/, 900],
];

/** Claude takes more than so many pictures of a request only where none has a longer side, and no picture with a side of more than the last. */
const CLAUDE_LARGE = { pictures: 20, px: 2_000, mostPx: 8_000 };
/** Characters of one picture. Platforms of others take half of what Anthropic takes. */
const CLAUDE_CHARS = 10 * 1024 * 1024;
/** Documents count as files too. */
const BEDROCK = { files: 20, documents: 5 };

interface Taken {
  readonly isPicture: boolean;
  /** A size that cannot be read counts as a large one. */
  readonly isLarge: boolean;
  readonly isRefused: boolean;
}

/** The messages with as many files as the model takes. A message that nothing is left out of is the same object. */
export function withTakenFiles(messages: ModelMessage[], provider: string, modelId: string): ModelMessage[] {
  const name = `${provider} ${modelId}`;
  const isClaude = CLAUDE.test(name);
  const files = filesIn(messages, isClaude ? CLAUDE_CHARS / (/bedrock|vertex/.test(provider) ? 2 : 1) : null);
  if (files.length === 0) return messages;
  const pictures = files.filter(({ isPicture }) => isPicture);
  const gone = new Set(pictures.filter(({ isRefused }) => isRefused));
  const leaveOut = (of: readonly Taken[], most: number, isOver = (_left: readonly Taken[]): boolean => true): void => {
    const left = of.filter((file) => !gone.has(file));
    let from = 0;
    while (left.length - from > most && isOver(left.slice(from))) from += Math.ceil(most / 3);
    for (const file of left.slice(0, from)) gone.add(file);
  };
  leaveOut(pictures, MOST_PICTURES.find(([model]) => model.test(name))?.[1] ?? Infinity);
  if (isClaude) leaveOut(pictures, CLAUDE_LARGE.pictures, (left) => left.some(({ isLarge }) => isLarge));
  if (provider.includes("bedrock")) {
    leaveOut(
      files.filter(({ isPicture }) => !isPicture),
      BEDROCK.documents,
    );
    leaveOut(files, BEDROCK.files);
  }
  if (gone.size === 0) return messages;
  let at = 0;
  return messages.map((message) =>
    withFiles(message, (file) =>
      gone.has(files[at++] as Taken) ? textPart(leftOut(file as unknown as FileUIPart)) : file,
    ),
  );
}

/** In the order of the messages. Sizes are read where `mostChars` of a picture are given. */
function filesIn(messages: readonly ModelMessage[], mostChars: number | null): Taken[] {
  const files: Taken[] = [];
  for (const message of messages) {
    withFiles(message, (file) => {
      const { type, mediaType } = file;
      const isPicture = String(type).startsWith("image") || String(mediaType).startsWith("image");
      const isMeasured = isPicture && mostChars !== null;
      const content = isMeasured ? contentOf(file) : "";
      const size = isMeasured ? imageSize(content) : null;
      const side = size === null ? null : Math.max(size.width, size.height);
      files.push({
        isPicture,
        isLarge: side === null || side > CLAUDE_LARGE.px,
        isRefused: isMeasured && ((side ?? 0) > CLAUDE_LARGE.mostPx || textLength(content) > mostChars),
      });
      return file;
    });
  }
  return files;
}

/** The message with each file of the user and of a result changed. The same object where none is. */
export function withFiles(message: ModelMessage, change: (file: Fields) => object): ModelMessage {
  if (typeof message.content === "string" || message.role === "assistant") return message;
  const given = message.content as unknown as readonly Fields[];
  const content = given.map((part) => {
    const { type } = part;
    return type === "file" || type === "image" ? change(part) : withItems(part, change);
  });
  return content.every((part, at) => part === given[at])
    ? message
    : ({ ...message, content } as unknown as ModelMessage);
}

/** The result of a call with each item that is no text changed. */
export function withItems(part: Fields, change: (item: Fields) => object): Fields {
  const { type, value } = (part["output"] ?? {}) as Fields;
  if (type !== "content" || !Array.isArray(value)) return part;
  const items = (value as Fields[]).map((item) => (item["type"] === "text" ? item : change(item)));
  return items.every((item, at) => item === value[at]) ? part : { ...part, output: { type, value: items } };
}

/** A file's bytes, base64 or address. */
export function contentOf({ data, image, url }: Fields): unknown {
  const given = data ?? image ?? url;
  if (given instanceof URL) return given.href;
  const isWrapped = typeof given === "object" && given !== null && !ArrayBuffer.isView(given);
  return isWrapped ? contentOf(given as Fields) : given;
}
