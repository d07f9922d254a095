/**
 * Reads tool parts of a UI message in one way for every step: whether a part is one, its tool's name, and whether it
 * has a result.
 *
 * A UI message normally has a call and its result in one part. Imported histories may keep them apart, with the call in
 * one message and a part with the same call id and the result in a later one. Every step treats both shapes by the rule
 * of {@link hasResult}.
 *
 * Stored parts were only checked to have a type. A client, an import or a crash may have left a field out or filled it
 * with another value. So a step reads a part's texts with {@link fieldText} and its inner parts with
 * {@link innerParts}, and never throws on a bad one. A stored history can always be read.
 */
import type { DynamicToolUIPart, ToolUIPart, UIMessage } from "ai";

export type Part = UIMessage["parts"][number];
export type ToolPart = ToolUIPart | DynamicToolUIPart;

/** The part as a tool part, or null. Without a call id a part cannot be paired, so it does not count as a tool part. */
export function toolPart(part: Part): ToolPart | null {
  const named = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return named && "toolCallId" in part && typeof part.toolCallId === "string" ? part : null;
}

export function toolName(part: ToolPart): string {
  return part.type === "dynamic-tool" ? fieldText(part.toolName) : part.type.slice("tool-".length);
}

/** The text of a field. Empty when it is missing or null, and JSON for a value of another type. */
export function fieldText(value: unknown): string {
  return value === null ? "" : jsonText(value);
}

/** The texts of parts, without those of tools and reasoning. */
export function textsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "text" ? [fieldText(part.text)] : []));
}

/**
 * The parts inside a part of type `steering-message`. Any other value inside becomes a text part. Returns the original
 * array when all are parts.
 */
export function innerParts(part: Part): Part[] {
  const inner: unknown = "parts" in part ? part.parts : undefined;
  if (!Array.isArray(inner)) return inner === undefined ? [] : [textPart(inner)];
  return inner.every(isPart) ? inner : inner.map((each: unknown) => (isPart(each) ? each : textPart(each)));
}

function isPart(value: unknown): value is Part {
  return typeof (value as { type?: unknown } | null)?.type === "string";
}

/** A text part of any value. */
export function textPart(value: unknown): Part {
  return { type: "text", text: fieldText(value) };
}

/** True when the model will be told how the call ended: with an output, an error, or a refusal to run it. */
export function hasResult(part: ToolPart): boolean {
  if (part.state === "approval-responded")
    return (part.approval as { approved?: boolean } | undefined)?.approved === false;
  return part.state === "output-available" || part.state === "output-error" || part.state === "output-denied";
}

/** False for a part that alone says nothing to a model: a step mark, data or sources for the page, reasoning, or a blank text. */
export function isSaid(part: Part): boolean {
  if (part.type === "text") return fieldText(part.text).trim() !== "";
  if (part.type === "reasoning" || part.type === "reasoning-file") return false;
  return part.type !== "step-start" && !part.type.startsWith("data-") && !part.type.startsWith("source-");
}

/** True when the part is a call that waits for its result. */
export function isOpenCall(part: Part): boolean {
  const tool = toolPart(part);
  return tool !== null && !hasResult(tool);
}

/** True when the part is a call that waits for a person's approval, or was approved and has not run yet. */
export function isOpenApproval(part: Part): part is ToolPart {
  return isOpenCall(part) && toolPart(part)?.state.startsWith("approval-") === true;
}

/** The result of a call in the fields of a part, given by a tool, a client or a person. */
export type GivenResult =
  | { readonly state: "output-available"; readonly output: unknown }
  | { readonly state: "output-error"; readonly errorText: string }
  | { readonly state: "output-denied"; readonly reason: string | null };

/** True when the part has a result but no input, so its call must be in another part. */
export function isBareResult(part: ToolPart): boolean {
  return hasResult(part) && part.input === undefined && !("rawInput" in part && part.rawInput !== undefined);
}

/** JSON for a prompt or a measure. Never throws and never prints `[object Object]`. Empty for `undefined`. */
export function jsonText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "";
}
