/**
 * Pictures, documents and other bytes inside what a tool returned, as MCP, the AI SDK and providers write them: in a list of contents, in a
 * data URL, or as base64 in a field.
 *
 * A provider counts a picture by its size in pixels, and half of encoded bytes is useless to anybody. So bytes count as a file does, and they
 * are shown whole or replaced by a line that says what was there. They are never cut. A value in, an answer out. A value without bytes is
 * the same value.
 */
import { imageTokens } from "../tokens/image-tokens.ts";
import { IMAGE_TOKENS } from "../../limits.ts";
import { contentOf } from "./output.ts";

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
