/**
 * Leaves out the oldest files of a prompt that has more bytes of them than providers take in one request.
 *
 * A picture of megabytes costs few tokens, so no limit in tokens bounds them. A line says what was there, and the newest file always stays. The
 * files that go change in strides, so that the prompts of a tool loop share a prefix.
 */
import type { FileUIPart, ModelMessage, UIMessage } from "ai";
import { MAX_FILE_CHARS } from "../limits.ts";
import { encodedChars, textLength, textPart, withoutBytes } from "../steps/message/message.ts";
import { leftOut } from "./lighten.ts";

/** The share of the limit by which the files grow again before more of them go. */
const STRIDE_SHARE = 1 / 3;

type Message = UIMessage | ModelMessage;
type Fields = Readonly<Record<string, unknown>>;

/** Messages of a view or of a prompt. Returns the same array where all fit. */
export function withinBytes<M extends Message>(messages: M[], limit = MAX_FILE_CHARS): M[] {
  if (messages.reduce((sum, message) => sum + textLength(partsOf(message)), 0) <= limit) return messages;
  const sizes = messages.map((message) => partsOf(message).map(sizeOf));
  const total = sizes.flat().reduce((sum, size) => sum + size, 0);
  if (total <= limit) return messages;
  const stride = limit * STRIDE_SHARE;
  const line = stride * Math.ceil((total - limit) / stride);
  let before = 0;
  return messages.map((message, at) => {
    const parts = partsOf(message).map((part, n) => {
      const size = sizes[at]?.[n] ?? 0;
      const goes = size > 0 && before < line && before + size < total;
      before += size;
      return goes ? withoutFile(part) : part;
    });
    if (parts.every((part, n) => part === partsOf(message)[n])) return message;
    return { ...message, ["parts" in message ? "parts" : "content"]: parts };
  });
}

/** The same for the parts of one message. */
export function partsWithinBytes(parts: UIMessage["parts"], limit: number): UIMessage["parts"] {
  return withinBytes<UIMessage>([{ id: "", role: "assistant", parts }], limit)[0]?.parts ?? parts;
}

function partsOf(message: Message): readonly Fields[] {
  const parts = "parts" in message ? message.parts : message.content;
  return typeof parts === "string" ? [] : (parts as unknown as readonly Fields[]);
}

/** Where the bytes of a part may be. A signature of a provider is none of them. */
const HOLDERS = ["input", "output", "text", "parts"] as const;

function sizeOf(part: Fields): number {
  if (part["type"] === "file" || part["type"] === "image")
    return textLength([part["url"] ?? part["data"] ?? part["image"]]);
  return HOLDERS.reduce((sum, name) => sum + encodedChars(part[name]), 0);
}

function withoutFile(part: Fields): Fields {
  if (part["type"] === "file" || part["type"] === "image")
    return { ...textPart(leftOut(part as unknown as FileUIPart)) };
  return {
    ...part,
    ...Object.fromEntries(HOLDERS.flatMap((name) => (name in part ? [[name, withoutBytes(part[name])]] : []))),
  };
}
