/**
 * Tool parts of a UI message, read the same way by every step: what is a tool part, what is it called, is it answered.
 *
 * A UI message normally carries a call and its result in one part. Imported histories may keep them apart: a part
 * without a result in one message, and a part with the same call id and a result in a later one. Every step treats
 * both shapes by the one rule in {@link hasResult}.
 *
 * What is stored was checked to be parts with a type, no further: a client, an import or a crash may have left a field
 * out or put something else there. So a step reads a part's texts by {@link fieldText} and the parts inside a part by
 * {@link innerParts}, and never throws on one: a history that was stored can always be read.
 */
import type { DynamicToolUIPart, ToolUIPart, UIMessage } from "ai";

export type Part = UIMessage["parts"][number];
export type ToolPart = ToolUIPart | DynamicToolUIPart;

/** The part as a tool part, or null. A part that looks like one but has no call id cannot be paired, so it is none. */
export function toolPart(part: Part): ToolPart | null {
  const named = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return named && "toolCallId" in part && typeof part.toolCallId === "string" ? part : null;
}

export function toolName(part: ToolPart): string {
  return part.type === "dynamic-tool" ? fieldText(part.toolName) : part.type.slice("tool-".length);
}

/** What a field says that should hold a text: itself, nothing when it is missing or null, JSON of anything else. */
export function fieldText(value: unknown): string {
  return value === null ? "" : jsonText(value);
}

/** The parts that a part of type `steering-message` holds; what is none is a text. The very array when all are parts. */
export function innerParts(part: Part): Part[] {
  const inner: unknown = "parts" in part ? part.parts : undefined;
  if (!Array.isArray(inner)) return inner === undefined ? [] : [textPart(inner)];
  return inner.every(isPart) ? inner : inner.map((each: unknown) => (isPart(each) ? each : textPart(each)));
}

function isPart(value: unknown): value is Part {
  return typeof (value as { type?: unknown } | null)?.type === "string";
}

function textPart(value: unknown): Part {
  return { type: "text", text: fieldText(value) };
}

/** True when the model will be told how the call ended: an output, an error, or a refusal to run it. */
export function hasResult(part: ToolPart): boolean {
  if (part.state === "approval-responded")
    return (part.approval as { approved?: boolean } | undefined)?.approved === false;
  return part.state === "output-available" || part.state === "output-error" || part.state === "output-denied";
}

/** False for a part that no model is sent: the mark of a step, data and sources for the page, an empty text. */
export function isSaid(part: Part): boolean {
  if (part.type === "text") return fieldText(part.text) !== "";
  return part.type !== "step-start" && !part.type.startsWith("data-") && !part.type.startsWith("source-");
}

/** True when the part is a call that waits for its result. */
export function isOpenCall(part: Part): boolean {
  const tool = toolPart(part);
  return tool !== null && !hasResult(tool);
}

/** True when the part is a call that a person is to allow, or has allowed and that nobody has run yet. */
export function isOpenApproval(part: Part): part is ToolPart {
  return isOpenCall(part) && toolPart(part)?.state.startsWith("approval-") === true;
}

/** What became of a part's call, in the fields of a part: the result that a tool, a client or a person gave it. */
export type CallResult =
  | { readonly state: "output-available"; readonly output: unknown }
  | { readonly state: "output-error"; readonly errorText: string }
  | { readonly state: "output-denied"; readonly reason: string | null };

/** True when the part carries a result but not what was asked: its call must be elsewhere. */
export function isBareResult(part: ToolPart): boolean {
  return hasResult(part) && part.input === undefined && !("rawInput" in part && part.rawInput !== undefined);
}

/** JSON for a prompt or a measure. Never throws, never prints `[object Object]`; `undefined` reads as nothing. */
export function jsonText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "";
}
