/**
 * Content blocks, as provider messages hold them, to pieces of a turn.
 *
 * Job: one zod schema per block type that parses and translates at once. Boundary: blocks only; who said them is the
 * format's matter. Safe because unknown block types survive as data parts: kept in the history, never sent to a model.
 */
import { z } from "zod";
import { isRecord, list, parseInside } from "./items.ts";
import type { Part, Piece } from "./turns.ts";

export function textPiece(text: string): Piece {
  return { kind: "part", part: { type: "text", text } };
}

/** Reasoning with what the provider needs to accept it back, kept under the provider's name as the AI SDK does. */
export function reasoningPiece(text: string, provider?: { name: string; fields: Record<string, string> }): Piece {
  const signed = provider !== undefined && Object.values(provider.fields).some((value) => value !== "");
  const part: Part = { type: "reasoning", text };
  if (signed) part.providerMetadata = { [provider.name]: provider.fields };
  return { kind: "part", part };
}

/** A file from base64 bytes or from a URL. */
export function filePiece(mediaType: string, source: { base64: string } | { url: string }): Piece {
  const url = "url" in source ? source.url : `data:${mediaType};base64,${source.base64}`;
  return { kind: "part", part: { type: "file", mediaType, url } };
}

/** A block of an unknown type, whole, as a data part. */
export const unknownBlock: z.ZodType<Piece> = z
  .looseObject({ type: z.string() })
  .transform((block): Piece => ({ kind: "part", part: { type: "data-imported-block", data: block } }));

/** Content that is a string, a list of blocks, or absent, as a list of pieces. */
export function content(block: z.ZodType<Piece>): z.ZodType<Piece[]> {
  const blocks = list(block);
  return z
    .unknown()
    .optional()
    .transform((value, context): Piece[] => {
      if (value === undefined || value === null || value === "") return [];
      return typeof value === "string" ? [textPiece(value)] : parseInside(blocks, value, context);
    });
}

/** A tool's output: text where it is nothing but text, else the blocks as they are. */
export const toolOutput: z.ZodType = z
  .unknown()
  .optional()
  .transform((value): unknown => {
    if (value === undefined || value === null) return "";
    const texts = Array.isArray(value) ? value.map(textIn) : [null];
    return texts.includes(null) ? value : texts.join("\n");
  });

/** What a text block says; null for any other value. */
function textIn(block: unknown): string | null {
  const text = isRecord(block) && block["type"] === "text" ? block["text"] : null;
  return typeof text === "string" ? text : null;
}
