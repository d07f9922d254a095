/**
 * A message without what its transcript does not show: the bytes of files, data for a page, and metadata.
 *
 * A chunk crosses RPC to its summariser. Files are not counted by their bytes, so those of one chunk may exceed what RPC takes. The
 * transcript tells a file's type, size and name, and the stand-in keeps these. Pure.
 */
import type { UIMessage } from "ai";
import { isEncoded } from "../text/encoded.ts";
import { fileBytes } from "./measure.ts";
import { fieldText, innerParts, toolPart, type Part } from "./tool-parts.ts";

/** A shorter data URL is kept. */
const LEAST_URL_CHARS = 1_000;
/** Longer than what a transcript shows of one output, so that an ordinary output stays whole. */
const LEAST_ENCODED_CHARS = 20_000;
/** Levels of a tool's output that are searched. A deeper one is kept. */
const MAX_DEPTH = 20;

/** The same object where nothing is left out. */
export function withoutBytes(message: UIMessage): UIMessage {
  const parts = message.parts.map(lighter);
  const isSame = message.metadata === undefined && parts.every((part, at) => part === message.parts[at]);
  if (isSame) return message;
  const { metadata: _, ...rest } = message;
  return { ...rest, parts };
}

function lighter(part: Part): Part {
  if (part.type.startsWith("data-")) return { ...part, data: null } as Part;
  if (part.type === "file" || part.type === "reasoning-file") {
    const url = fieldText(part.url);
    return url.length < LEAST_URL_CHARS || !url.startsWith("data:") ? part : { ...part, url: standIn(url) };
  }
  if (part.type === "steering-message") return { ...part, parts: innerParts(part).map(lighter) } as Part;
  const tool = toolPart(part);
  if (tool === null) return part;
  const input = withoutEncoded(tool.input, 0);
  const output = withoutEncoded(tool.output, 0);
  return input === tool.input && output === tool.output ? part : ({ ...part, input, output } as Part);
}

/** {@link fileBytes} reads the size of the file from it. */
function standIn(url: string): string {
  return `data:;bytes=${fileBytes(url) ?? 0},`;
}

function withoutEncoded(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    const isBytes = value.length >= LEAST_ENCODED_CHARS && isEncoded(value, LEAST_ENCODED_CHARS);
    return isBytes ? `[${value.length} characters of encoded bytes]` : value;
  }
  if (typeof value !== "object" || value === null || depth === MAX_DEPTH) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, withoutEncoded(each, depth + 1), each] as const);
  if (entries.every(([, lean, whole]) => lean === whole)) return value;
  return Array.isArray(value)
    ? entries.map(([, lean]) => lean)
    : Object.fromEntries(entries.map(([key, lean]) => [key, lean]));
}
