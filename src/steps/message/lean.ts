/**
 * A message without what its transcript does not show: the bytes of files, data for a page, and large metadata.
 *
 * A chunk crosses RPC to its summariser. Files are not counted by their bytes, so those of one chunk may exceed what RPC takes. The
 * transcript tells a file's type, size and name, and the stand-in keeps these. Pure.
 */
import type { UIMessage } from "ai";
import { withoutBytes } from "./bytes.ts";
import { fileBytes } from "./measure.ts";
import { fieldText, innerParts, jsonText, toolPart, type Part } from "./tool-parts.ts";
import { RESERVED_METADATA } from "../view/view.ts";

/** A shorter data URL is kept. */
const LEAST_URL_CHARS = 1_000;

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
  const kept = fields.filter(([name, value]) => name === RESERVED_METADATA || jsonText(value).length < LEAST_URL_CHARS);
  return kept.length === fields.length ? metadata : Object.fromEntries(kept);
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
  const [input, output] = [withoutBytes(tool.input), withoutBytes(tool.output)];
  return input === tool.input && output === tool.output ? part : ({ ...part, input, output } as Part);
}

/** {@link fileBytes} reads the size of the file from it. */
function standIn(url: string): string {
  return `data:;bytes=${fileBytes(url) ?? 0},`;
}
