/**
 * How much of a prompt that was sent ends with certain messages, as they are stored now. Pure.
 *
 * Compares texts, calls with their inputs, and outputs. Nothing may stand between them. What was shown in another form (previewed,
 * truncated, redacted or changed since) does not count.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { hasResult, isSaid, toolName, toolPart, type Part } from "../steps/message/tool-parts.ts";

/**
 * The length of the prompt's beginning that ends with the messages, in the prompt's own messages. Null where the prompt does not hold them.
 * Messages behind these are not in it, so no summary can describe them.
 */
export function lengthUpTo(prompt: LanguageModelV4Prompt, messages: readonly UIMessage[]): number | null {
  const own = messages.flatMap(({ role, parts }) => parts.map((part) => saidOf(role, part)));
  const wanted = own.filter((each) => each !== null);
  const texts = prompt.flatMap((message, at) => readSaid(message).map((text) => ({ text, at })));
  const first = texts.findIndex((_, at) => wanted.every((each, n) => each !== "" && texts[at + n]?.text === each));
  const last = texts[first + wanted.length - 1]?.at;
  // The message of the prompt must end there as well.
  if (wanted.length === 0 || first === -1 || last === undefined || texts[first + wanted.length]?.at === last)
    return null;
  const rest = prompt.findIndex(({ role }, at) => at > last && role !== "tool");
  const length = rest === -1 ? prompt.length : rest;
  const outputs = new Map(prompt.slice(0, length).flatMap(readOutputs));
  return messages.every(({ parts }) => parts.every((part) => isShown(outputs, part))) ? length : null;
}

/** A text or a call, by its author. Null for a part that the model is not sent, and empty for one of an unknown form. */
function saidOf(role: UIMessage["role"], part: Part): string | null {
  const call = toolPart(part);
  if (call !== null) return callOf(call.toolCallId, toolName(call), call.input);
  if (part.type === "text") return part.text === "" ? null : textOf(role, part.text);
  // What a model thought comes back in each provider's own form, and it is no part of a summary's source.
  return part.type === "reasoning" || !isSaid(part) ? null : "";
}

function isShown(outputs: ReadonlyMap<string, unknown>, part: Part): boolean {
  const call = toolPart(part);
  if (call === null) return true;
  const shown = outputs.get(call.toolCallId);
  if (!hasResult(call)) return true;
  if (shown === undefined) return false;
  const json = JSON.stringify(shown);
  if (call.state === "output-available") return json === JSON.stringify(call.output);
  return call.state !== "output-error" || json === JSON.stringify(call.errorText);
}

function readSaid(message: LanguageModelV4Prompt[number]): string[] {
  const { role, content } = message;
  if (typeof content === "string") return [textOf(role, content)];
  return content.flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [textOf(role, part.text)];
    return part.type === "tool-call" ? [callOf(part.toolCallId, part.toolName, part.input)] : [];
  });
}

function readOutputs({ content }: LanguageModelV4Prompt[number]): (readonly [id: string, output: unknown])[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type !== "tool-result") return [];
    const { output } = part;
    return [[part.toolCallId, "value" in output ? output.value : null] as const];
  });
}

function textOf(role: string, text: string): string {
  return `${role} ${text}`;
}

function callOf(id: string, name: string, input: unknown): string {
  return `call ${JSON.stringify([id, name, input])}`;
}
