/**
 * Turns the content blocks of provider messages into pieces of a turn.
 *
 * One zod schema per block type parses and translates at once. The format's own module knows who said a block. Unknown block types survive
 * as data parts, which stay in the history and are never sent to a model. A note counts them by kind.
 */
import { z } from "zod";
import { isRecord, list, parseInside } from "./items.ts";
import type { Part } from "../steps/message/tool-parts.ts";
import type { TurnPiece } from "./turns.ts";

/** The type of the part that holds a block of an unknown kind. */
export const UNKNOWN_BLOCK = "data-imported-block";

export function textPiece(text: string): TurnPiece {
  return { kind: "part", part: { type: "text", text } };
}

/** Begins another step of a reply. A step is one call of a model. */
export function stepPiece(): TurnPiece {
  return { kind: "part", part: { type: "step-start" } };
}

/** Reasoning with the fields that the provider needs to accept it back. They stand under the provider's name, as in the AI SDK. */
export function reasoningPiece(text: string, provider?: { name: string; fields: Record<string, string> }): TurnPiece {
  const signed = provider !== undefined && Object.values(provider.fields).some((value) => value !== "");
  const part: Part = { type: "reasoning", text };
  if (signed) part.providerMetadata = { [provider.name]: provider.fields };
  return { kind: "part", part };
}

/** A file from base64 bytes or from a URL. */
export function filePiece(
  mediaType: string,
  source: { base64: string } | { url: string },
  filename?: string | null,
): TurnPiece {
  const url = "url" in source ? source.url : `data:${mediaType};base64,${source.base64}`;
  const part: Part = { type: "file", mediaType, url };
  if (typeof filename === "string") part.filename = filename;
  return { kind: "part", part };
}

/** A file whose text is given. In a fence, because the user did not write it. */
export function fileTextPiece(name: string, text: string): TurnPiece {
  const longest = (text.match(/`+/g) ?? []).reduce((most, ticks) => Math.max(most, ticks.length), 2);
  const fence = "`".repeat(longest + 1);
  return textPiece(`${name}:\n\n${fence}\n${text}\n${fence}`);
}

/** The media type in a data URL. */
export function mediaTypeOf(url: string, fallback: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? fallback;
}

/** A block of an unknown type, kept whole as a data part. */
export const unknownBlock: z.ZodType<TurnPiece> = z
  .looseObject({ type: z.string() })
  .transform((block): TurnPiece => ({ kind: "part", part: { type: UNKNOWN_BLOCK, data: block } }));

/** Parses a block with the first schema that it fits. A block that fits none is kept as an unknown one. */
export function orUnknown(...schemas: readonly z.ZodType<TurnPiece>[]): z.ZodType<TurnPiece> {
  return z.union([...schemas, unknownBlock]);
}

/** Parses content that is a string, a list of blocks, or absent, into a list of pieces. */
export function content(block: z.ZodType<TurnPiece>): z.ZodType<TurnPiece[]> {
  const blocks = list(block);
  return z
    .unknown()
    .optional()
    .transform((value, context): TurnPiece[] => {
      if (value === undefined || value === null || value === "") return [];
      return typeof value === "string" ? [textPiece(value)] : parseInside(blocks, value, context);
    });
}

/** A tool's output. It is text where all blocks are text, else the blocks as they are. */
export const toolOutput: z.ZodType = z
  .unknown()
  .optional()
  .transform((value): unknown => {
    if (value === undefined || value === null) return "";
    const texts = Array.isArray(value) ? value.map(textIn) : [null];
    return texts.includes(null) ? value : texts.join("\n");
  });

const TEXT_TYPES: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);

/** Returns the text of a text block, or null for any other value. */
function textIn(block: unknown): string | null {
  const text = isRecord(block) && TEXT_TYPES.has(block["type"]) ? block["text"] : null;
  return typeof text === "string" ? text : null;
}
