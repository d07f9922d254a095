/**
 * Previews of tool outputs that are too large to send with every later prompt.
 *
 * On a copy, replaces such an output by its start and end, with a note on where the whole is stored. It depends on the
 * output's own size alone, so later messages never change the prefix of a prompt. It is safe because the stored message
 * is whole (M1), an output keeps its shape as far as possible (truncate.ts), and errors are not touched.
 */
import type { UIMessage } from "ai";
import { checkFields, checkWhole } from "../known-fields.ts";
import { withoutBytes, jsonText, toolPart, type Part } from "../steps/message/message.ts";
import { shortenOutput } from "./truncate.ts";
import { storedId } from "../steps/view/view.ts";

/** Characters of the preview of an oversized tool output, and the smallest limit in bytes that a caller may set. */
const PREVIEW_CHARS = 2_000;
const MIN_PREVIEW_BYTES = 4_000;

/** Most bytes that one UTF-16 unit takes in UTF-8. */
const BYTES_PER_CHAR = 3;

export interface PreviewOptions {
  /** UTF-8 bytes of an output, as JSON unless it is a string, above which a preview is sent instead. Files in it do not count. */
  readonly maxBytes: number;
}

/** Replaces oversized outputs by previews. Returns the same array and the same objects wherever no output is oversized. */
export function previewOutputs(messages: UIMessage[], { maxBytes }: PreviewOptions): UIMessage[] {
  const shown = messages.map((message) => {
    const parts = message.parts.map((part) => previewPart(part, message.id, maxBytes));
    return parts.every((part, at) => part === message.parts[at]) ? message : { ...message, parts };
  });
  return shown.every((message, at) => message === messages[at]) ? messages : shown;
}

/** Throws `invalid_options`. */
export function checkPreviews(options: PreviewOptions): void {
  checkFields("previewToolOutputs", options, { maxBytes: true });
  const { maxBytes } = options;
  // Less is no larger than its preview.
  checkWhole("maxBytes", maxBytes, MIN_PREVIEW_BYTES);
}

function previewPart(part: Part, messageId: string, maxBytes: number): Part {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true) return part;
  const bytes = utf8Bytes(jsonText(withoutBytes(tool.output)), maxBytes);
  if (bytes <= maxBytes) return part;
  const note =
    `A preview: the output has ${Math.ceil(bytes / 1024)} KB. ` +
    `All of it is stored in message "${storedId(messageId)}". Run the tool again, asking for less, to see more.`;
  // Short enough that the preview itself is under the limit in any script.
  const chars = Math.min(PREVIEW_CHARS, Math.floor(maxBytes / BYTES_PER_CHAR));
  return { ...tool, output: shortenOutput(tool.output, chars, note) };
}

/** Encodes the text only if its length alone does not show that it is under the limit. */
function utf8Bytes(text: string, limit: number): number {
  return text.length * BYTES_PER_CHAR <= limit ? text.length : new TextEncoder().encode(text).length;
}
