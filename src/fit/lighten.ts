/**
 * Makes a step lighter. It removes reasoning and files, and cuts texts and tool calls in the middle.
 *
 * The parts of one step in, new parts out. fit-view.ts decides which steps are changed and how far. It is safe because
 * every call keeps its result (V2), each cut is marked in place, and an error's text keeps both its ends. A step that
 * would become empty gets a note instead.
 */
import type { FileUIPart, TextUIPart } from "ai";
import { MAX_CHARS_PER_TOKEN as CHARS_PER_TOKEN } from "../limits.ts";
import {
  fileTokens,
  fieldText,
  innerParts,
  isOpenCall,
  toolPart,
  textPart,
  type Part,
  type ToolPart,
} from "../steps/message/message.ts";
import { cutMiddle } from "../steps/draft/render.ts";
import { isReasoning, ownWhereChanged, withoutItem } from "../steps/view/items.ts";
import { shortenOutput, shortenShown } from "./truncate.ts";

const CUT_CALL = "Shortened to fit.";

/**
 * Removes reasoning. Also removes the provider's item ids from other parts, because a provider expects the reasoning
 * beside them.
 */
export function withoutReasoning(parts: Part[]): Part[] {
  if (!parts.some(isReasoning)) return parts;
  const kept = parts.filter((part) => !isReasoning(part)).map(withoutItem);
  return kept.every((part) => part.type === "step-start") ? [...kept, textPart("[Reasoning left out to fit.]")] : kept;
}

/** Replaces every file by a line of text. */
export function withoutFiles(parts: Part[]): Part[] {
  return changed(parts, (part) => (part.type === "file" ? textPart(leftOut(part)) : part));
}

/** Only the open calls of a step. */
export function onlyOpenCalls(parts: Part[]): Part[] {
  return withoutReasoning(parts).filter((part) => part.type === "step-start" || isOpenCall(part));
}

/**
 * Cuts every text, input, output and error to `chars`, and removes files that cost more than such a text. Calls that
 * the provider ran and calls that wait for a result stay unchanged.
 */
export function squeeze(parts: Part[], chars: number): Part[] {
  const squeezed = changed(parts, (part) => {
    if (part.type === "text") return squeezeText(part, chars);
    if (part.type === "file") return fileTokens(part) * CHARS_PER_TOKEN > chars ? textPart(leftOut(part)) : part;
    const tool = toolPart(part);
    // A call that still waits must run with its original input.
    return tool === null || tool.providerExecuted === true || isOpenCall(part) ? part : squeezeTool(tool, chars);
  });
  return ownWhereChanged(parts, squeezed);
}

function squeezeText(part: TextUIPart, chars: number): Part {
  const text = fieldText(part.text);
  return text.length <= chars ? part : { ...part, text: cutMiddle(text, chars) };
}

function squeezeTool(tool: ToolPart, chars: number): ToolPart {
  const asked = { ...tool, input: shortenOutput(tool.input, chars, CUT_CALL) } as ToolPart;
  if (asked.state === "output-error") return { ...asked, errorText: cutMiddle(fieldText(asked.errorText), chars) };
  return asked.state === "output-available" ? { ...asked, output: shortenShown(asked.output, chars) } : asked;
}

/** Changes each part, including those inside a steering message. */
function changed(parts: Part[], change: (part: Part) => Part): Part[] {
  return parts.map((part) => {
    if (part.type !== "steering-message") return change(part);
    return { ...part, parts: innerParts(part).map(change) } as Part;
  });
}

export function leftOut(file: FileUIPart): string {
  const name = fieldText(file.filename).slice(0, 200);
  return `[File${name === "" ? "" : ` ${name}`} (${fieldText(file.mediaType).slice(0, 100)}) left out to fit.]`;
}
