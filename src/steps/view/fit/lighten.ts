/**
 * What a step is made lighter by: reasoning and files that go, texts and tool calls that are cut in the middle.
 *
 * Boundary: the parts of one step in, new ones out; which steps, and how far, is decided in fit-view.ts. Safe because
 * every call keeps its result (V2), what is cut says so in its place, an error's text keeps both its ends, and a step
 * that would be left empty says that, too.
 */
import type { FileUIPart } from "ai";
import { MAX_CHARS_PER_TOKEN as CHARS_PER_TOKEN } from "../../../limits.ts";
import { fileTokens } from "../../message/measure.ts";
import { cutMiddle } from "../../draft/render.ts";
import { fieldText, innerParts, isOpenCall, toolPart, type Part, type ToolPart } from "../../message/tool-parts.ts";
import { shortenOutput } from "../truncate.ts";

const CUT_CALL = "Shortened to fit.";

/** Without what the model thought. A provider's own names for what is left go too: it wants the thought beside them. */
export function withoutReasoning(parts: Part[]): Part[] {
  if (!parts.some(isReasoning)) return parts;
  const kept = parts.filter((part) => !isReasoning(part)).map(withoutItemId);
  return kept.every((part) => part.type === "step-start") ? [...kept, said("[Reasoning left out to fit.]")] : kept;
}

function isReasoning(part: Part): boolean {
  return part.type === "reasoning" || part.type === "reasoning-file";
}

/** With a line of text in the place of every file. */
export function withoutFiles(parts: Part[]): Part[] {
  return changed(parts, (part) => (part.type === "file" ? said(leftOut(part)) : part));
}

/** The open calls of a step alone. */
export function onlyOpenCalls(parts: Part[]): Part[] {
  return withoutReasoning(parts).filter((part) => part.type === "step-start" || isOpenCall(part));
}

/**
 * With every text, input, output and error cut to `chars`, and without files that weigh more than such a text. What a
 * provider ran stays as it was, and so does a call that waits for its result.
 */
export function squeeze(parts: Part[], chars: number): Part[] {
  return changed(parts, (part) => {
    if (part.type === "text") return { ...part, text: cutMiddle(fieldText(part.text), chars) };
    if (part.type === "file") return fileTokens(part) * CHARS_PER_TOKEN > chars ? said(leftOut(part)) : part;
    const tool = toolPart(part);
    // What is still to be run is run with what was asked.
    return tool === null || tool.providerExecuted === true || isOpenCall(part) ? part : squeezeTool(tool, chars);
  });
}

function squeezeTool(tool: ToolPart, chars: number): ToolPart {
  const asked = { ...tool, input: shortenOutput(tool.input, chars, CUT_CALL) } as ToolPart;
  if (asked.state === "output-error") return { ...asked, errorText: cutMiddle(fieldText(asked.errorText), chars) };
  return asked.state === "output-available" ? { ...asked, output: shortenOutput(asked.output, chars) } : asked;
}

/** Each part changed, also those inside a part. */
function changed(parts: Part[], change: (part: Part) => Part): Part[] {
  return parts.map((part) => {
    if (part.type !== "steering-message") return change(part);
    return { ...part, parts: innerParts(part).map(change) } as Part;
  });
}

function leftOut(file: FileUIPart): string {
  const name = fieldText(file.filename).slice(0, 200);
  return `[File${name === "" ? "" : ` ${name}`} (${fieldText(file.mediaType).slice(0, 100)}) left out to fit.]`;
}

function said(text: string): Part {
  return { type: "text", text };
}

function withoutItemId(part: Part): Part {
  const copy: Record<string, unknown> = { ...part };
  for (const field of ["providerMetadata", "callProviderMetadata"]) {
    const metadata = copy[field];
    if (typeof metadata !== "object" || metadata === null) continue;
    copy[field] = Object.fromEntries(
      Object.entries(metadata).map(([provider, said]) => [provider, withoutKey(said, "itemId")]),
    );
  }
  return copy as unknown as Part;
}

function withoutKey(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}
