/**
 * Previews of tool outputs that are too large to be sent with every prompt from then on.
 *
 * Job: on a copy, put the start and the end of such an output in its place, with a note where the whole is. Boundary: by
 * its own size alone, so that a prompt's beginning never changes with what comes after it. Safe because what is stored is
 * whole (M1), an output keeps its shape as far as it can (truncate.ts), and errors are not outputs.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { checkFields } from "../../known-fields.ts";
import { jsonText, toolPart, type Part } from "../message/tool-parts.ts";
import { shortenOutput } from "./truncate.ts";
import { parseSyntheticId } from "./view.ts";

/** Characters of the preview of an oversized tool output, and least bytes of one that may be called so. */
const PREVIEW_CHARS = 2_000;
const MIN_PREVIEW_BYTES = 4_000;

/** Most bytes that one UTF-16 unit takes in UTF-8. */
const BYTES_PER_CHAR = 3;

export interface PreviewOptions {
  /** UTF-8 bytes of an output, as JSON unless it is a string, beyond which a preview is sent in its place. */
  readonly maxBytes: number;
}

/** The same array, and the same objects in it, wherever no output is oversized. */
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
  if (Number.isSafeInteger(maxBytes) && maxBytes >= MIN_PREVIEW_BYTES) return;
  throw new PalimpsestError(
    "invalid_options",
    `maxBytes is ${maxBytes}: give a whole number of at least ${MIN_PREVIEW_BYTES}. Less is no larger than its preview.`,
  );
}

function previewPart(part: Part, messageId: string, maxBytes: number): Part {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true) return part;
  const bytes = utf8Bytes(jsonText(tool.output), maxBytes);
  if (bytes <= maxBytes) return part;
  const synthetic = parseSyntheticId(messageId);
  const owner = synthetic?.kind === "slice" ? synthetic.messageId : messageId;
  const note =
    `A preview: the output has ${Math.ceil(bytes / 1024)} KB. ` +
    `All of it is stored in message "${owner}". Run the tool again, asking for less, to see more.`;
  // So short that the preview is under the limit itself, whatever it is written in.
  const chars = Math.min(PREVIEW_CHARS, Math.floor(maxBytes / BYTES_PER_CHAR));
  return { ...tool, output: shortenOutput(tool.output, chars, note) };
}

/** Counted only where the length does not tell: a short text is not encoded to be measured. */
function utf8Bytes(text: string, limit: number): number {
  return text.length * BYTES_PER_CHAR <= limit ? text.length : new TextEncoder().encode(text).length;
}
