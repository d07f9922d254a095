/** Messages with content blocks, in the shape of the Anthropic Messages API. */
import type { Fields } from "../items.ts";
import {
  blockReader,
  bytesPart,
  filePart,
  metadataOf,
  piecesOf,
  reasoningPart,
  textPart,
  toolOutput,
  type ImportedTurn,
  type ReadBlock,
  type TurnPiece,
} from "../turns.ts";
import { attempt, Misfit } from "../items.ts";
import { blocksOf } from "./lists.ts";

/** True for a message with blocks of this API. */
export function isAnthropic(message: Readonly<Record<string, unknown>>): boolean {
  return blocksOf(message).some(
    (block) => "source" in block || /^(thinking|redacted_thinking|.*tool_(use|result))$/.test(String(block["type"])),
  );
}

/** Reads a file, as text where it is text. `fallback` is the media type of a URL, which names none. */
function fileReader(fallback: string): ReadBlock {
  const readSource = blockReader({
    base64: (source) => bytesPart(source.text("media_type"), source.text("data")),
    url: (source) => filePart(fallback, source.url("url")),
    text: (source) => textPart(source.text("data")),
  });
  return (block) => readSource(block.fields("source"));
}

const readPlain = blockReader({
  text: (block) => textPart(block.text("text")),
  thinking: (block) =>
    reasoningPart(block.text("thinking"), "anthropic", { signature: block.maybeText("signature") ?? "" }),
  redacted_thinking: (block) => reasoningPart("", "anthropic", { redactedData: block.text("data") }),
  image: fileReader("image"),
  document: fileReader("application/pdf"),
});

function readBlock(block: Fields): TurnPiece {
  const type = block.text("type");
  if (type.endsWith("tool_use")) {
    // The provider itself ran a `server_tool_use` or `mcp_tool_use` call, and its result is in the same message.
    const byProvider = type !== "tool_use" && { providerExecuted: true };
    return {
      type: "call",
      callId: block.text("id"),
      toolName: block.text("name"),
      input: block.get("input") ?? {},
      ...byProvider,
    };
  }
  if (!type.endsWith("tool_result")) return readPlain(block);
  const output = toolOutput(block.get("content"));
  return {
    type: "result",
    callId: block.text("tool_use_id"),
    toolName: null,
    output,
    failed: block.get("is_error") === true,
  };
}

/** One message of the API. Claude Code wraps the same shape. */
export function anthropicMessage(message: Fields): ImportedTurn {
  const usage = attempt(() => usageOf(message));
  return {
    role: message.oneOf("role", ["user", "assistant", "system"]),
    pieces: piecesOf(message, readBlock),
    id: message.maybeText("id"),
    metadata: metadataOf({ model: message.maybeText("model"), usage: usage instanceof Misfit ? null : usage }),
  };
}

function usageOf(message: Fields) {
  const usage = message.fields("usage");
  const cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].map((key) => usage.maybeNumber(key) ?? 0);
  const inputTokens = cached.reduce((sum, tokens) => sum + tokens, usage.number("input_tokens"));
  return { inputTokens, outputTokens: usage.number("output_tokens") };
}
