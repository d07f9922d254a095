/**
 * Whether a prompt that was sent holds messages, as they are stored now. Pure.
 *
 * Compares texts, calls with their inputs, and outputs, in their order. An output whose stub was sent counts, because a stub says what it
 * stands for. Anything else that was shown in another form (previewed, truncated, redacted or changed since) does not.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { hasResult, isSaid, toolName, toolPart, type Part } from "../steps/message/tool-parts.ts";
import { STUB_START } from "../steps/view/mask.ts";

export function holdsMessages(prompt: LanguageModelV4Prompt, messages: readonly UIMessage[]): boolean {
  const said = prompt.flatMap(readSaid);
  const outputs = new Map(prompt.flatMap(readOutputs));
  let at = 0;
  for (const { role, parts } of messages) {
    for (const part of parts) {
      const own = saidOf(role, part);
      if (own === "" || !isShown(outputs, part)) return false;
      if (own === null) continue;
      at = said.indexOf(own, at) + 1;
      if (at === 0) return false;
    }
  }
  return true;
}

/** A text or a call, by its author. Null for a part that the model is not sent, and empty for one of an unknown form. */
function saidOf(role: UIMessage["role"], part: Part): string | null {
  const call = toolPart(part);
  if (call !== null) return callOf(call.toolCallId, toolName(call), call.input);
  if (part.type === "text") return part.text === "" ? null : textOf(role, part.text);
  // What a model thought comes back in each provider's own form, and it is no part of a summary's source.
  return part.type === "reasoning" || !isSaid(part) ? null : "";
}

function isShown(outputs: ReadonlyMap<string, string>, part: Part): boolean {
  const call = toolPart(part);
  if (call === null) return true;
  const shown = outputs.get(call.toolCallId);
  if (!hasResult(call)) return true;
  if (shown === undefined) return false;
  if (call.state === "output-available") return shown === JSON.stringify(call.output) || isStub(shown);
  return call.state !== "output-error" || shown === JSON.stringify(call.errorText);
}

/** A stub stands as the output, or in a field of it. */
function isStub(shown: string): boolean {
  return shown.startsWith(`"${STUB_START}`) || shown.includes(`{"leftOut":"${STUB_START}`);
}

function readSaid(message: LanguageModelV4Prompt[number]): string[] {
  const { role, content } = message;
  if (typeof content === "string") return [textOf(role, content)];
  return content.flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [textOf(role, part.text)];
    return part.type === "tool-call" ? [callOf(part.toolCallId, part.toolName, part.input)] : [];
  });
}

function readOutputs({ content }: LanguageModelV4Prompt[number]): (readonly [id: string, output: string])[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type !== "tool-result") return [];
    const { output } = part;
    return [[part.toolCallId, JSON.stringify("value" in output ? output.value : null)] as const];
  });
}

function textOf(role: string, text: string): string {
  return `${role} ${text}`;
}

function callOf(id: string, name: string, input: unknown): string {
  return `call ${JSON.stringify([id, name, input])}`;
}
