/**
 * Turns the content blocks of provider messages into pieces of a turn.
 *
 * One zod schema per block type parses and translates at once. The format's own module knows who said a block. Unknown block types survive
 * as data parts, which stay in the history and are never sent to a model.
 */
import { z } from "zod";
import { isRecord, list, parseInside } from "./items.ts";
import type { Part } from "../steps/message/tool-parts.ts";
import type { TurnPiece } from "./turns.ts";

export function textPiece(text: string): TurnPiece {
  return { kind: "part", part: { type: "text", text } };
}

/** Reasoning with the fields that the provider needs to accept it back. They stand under the provider's name, as in the AI SDK. */
export function reasoningPiece(text: string, provider?: { name: string; fields: Record<string, string> }): TurnPiece {
  const signed = provider !== undefined && Object.values(provider.fields).some((value) => value !== "");
  const part: Part = { type: "reasoning", text };
  if (signed) part.providerMetadata = { [provider.name]: provider.fields };
  return { kind: "part", part };
}

/** A file from base64 bytes or from a URL. */
export function filePiece(mediaType: string, source: { base64: string } | { url: string }): TurnPiece {
  const url = "url" in source ? source.url : `data:${mediaType};base64,${source.base64}`;
  return { kind: "part", part: { type: "file", mediaType, url } };
}

/** A block of an unknown type, kept whole as a data part. */
export const unknownBlock: z.ZodType<TurnPiece> = z
  .looseObject({ type: z.string() })
  .transform((block): TurnPiece => ({ kind: "part", part: { type: "data-imported-block", data: block } }));

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

/** Returns the text of a text block, or null for any other value. */
function textIn(block: unknown): string | null {
  const text = isRecord(block) && block["type"] === "text" ? block["text"] : null;
  return typeof text === "string" ? text : null;
}
