/** Messages with content blocks, in the shape of the Anthropic Messages API. */
import { z } from "zod";
import { content, filePiece, reasoningPiece, textPiece, toolOutput, unknownBlock } from "./blocks.ts";
import { choose } from "./items.ts";
import type { ImportedMetadata, TurnPiece, ImportedTurn } from "./turns.ts";

/** Parses a file, as text where it is text. `fallback` is the media type of a URL, which names none. */
function source(fallback: string): z.ZodType<TurnPiece> {
  const base64 = z
    .object({ media_type: z.string(), data: z.string() })
    .transform((value) => filePiece(value.media_type, { base64: value.data }));
  const url = z.object({ url: z.url() }).transform((value) => filePiece(fallback, value));
  const text = z.object({ data: z.string() }).transform((value) => textPiece(value.data));
  const schemas = new Map<string, z.ZodType<TurnPiece>>([
    ["base64", base64],
    ["url", url],
    ["text", text],
  ]);
  return choose("type", (type) => schemas.get(type) ?? unknownBlock);
}

function file(mediaType: string): z.ZodType<TurnPiece> {
  return z.object({ source: source(mediaType) }).transform((block) => block.source);
}

const call = z
  .object({ type: z.string(), id: z.string(), name: z.string(), input: z.unknown().optional() })
  .transform((block): TurnPiece => ({
    kind: "call",
    callId: block.id,
    toolName: block.name,
    input: block.input ?? {},
    // The provider itself ran a `server_tool_use` or `mcp_tool_use` call, and its result is in the same message.
    ...(block.type !== "tool_use" && { providerExecuted: true }),
  }));

const result = z
  .object({ tool_use_id: z.string(), content: toolOutput, is_error: z.boolean().nullish() })
  .transform((block): TurnPiece => {
    return {
      kind: "result",
      callId: block.tool_use_id,
      toolName: null,
      output: block.content,
      failed: block.is_error === true,
    };
  });

const text = z.object({ text: z.string() }).transform((block) => textPiece(block.text));

const thinking = z
  .object({ thinking: z.string(), signature: z.string().default("") })
  .transform((block) => reasoningPiece(block.thinking, { name: "anthropic", fields: { signature: block.signature } }));

const redacted = z
  .object({ data: z.string() })
  .transform((block) => reasoningPiece("", { name: "anthropic", fields: { redactedData: block.data } }));

const blocks = new Map<string, z.ZodType<TurnPiece>>([
  ["text", text],
  ["thinking", thinking],
  ["redacted_thinking", redacted],
  ["image", file("image")],
  ["document", file("application/pdf")],
]);

const anthropicContent = content(
  choose("type", (type) => {
    if (type.endsWith("tool_use")) return call;
    if (type.endsWith("tool_result")) return result;
    return blocks.get(type) ?? unknownBlock;
  }),
);

const count = z.number().nullish();
const usage = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
});

/** One message of the API. Claude Code wraps the same shape. */
export const anthropicMessage = z
  .object({
    id: z.string().nullish(),
    role: z.enum(["user", "assistant", "system"]),
    content: anthropicContent,
    model: z.string().nullish(),
    usage: usage.nullish().catch(null),
  })
  .transform((message): ImportedTurn => ({
    role: message.role,
    pieces: message.content,
    id: message.id ?? null,
    metadata: metadataOf(message),
  }));

function metadataOf(message: { model?: string | null | undefined; usage?: z.infer<typeof usage> | null | undefined }) {
  const { model, usage } = message;
  const metadata: ImportedMetadata = {
    ...(typeof model === "string" && { model }),
    ...(usage && {
      usage: {
        inputTokens:
          usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
        outputTokens: usage.output_tokens,
      },
    }),
  };
  return metadata;
}
