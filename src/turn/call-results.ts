/**
 * Results of an earlier turn's calls, which the AI SDK ran before it asked the model. The SDK runs a call that a person approved, or
 * refuses it where its input no longer holds. Its result stands in front of the first step and belongs to no step of the turn.
 *
 * Reads only the arguments of `prepareStep` and `onToolExecutionEnd`. The call's id says which call is meant.
 */
import type { ModelMessage, ToolModelMessage } from "ai";
import type { CallResult } from "../steps/message/tool-parts.ts";

/** The part of `prepareStep`'s argument that this module reads, which holds all results of the turn so far. */
export interface StepBegun {
  /** Missing in version 6 of the AI SDK. */
  readonly responseMessages?: readonly ModelMessage[];
  /** The messages that the turn began with, and those that it produced. */
  readonly messages?: readonly ModelMessage[];
  readonly steps?: readonly { readonly response: { readonly messages: readonly ModelMessage[] } }[];
}

/** The part of `onToolExecutionEnd`'s argument that this module reads. */
export interface ToolEnded {
  readonly toolCall: { readonly toolCallId: string };
  readonly toolOutput:
    | { readonly type: "tool-result"; readonly output: unknown }
    | { readonly type: "tool-error"; readonly error: unknown };
}

export function resultOf({ toolCall, toolOutput }: ToolEnded): ReadonlyMap<string, CallResult> {
  const result: CallResult =
    toolOutput.type === "tool-result"
      ? { state: "output-available", output: toolOutput.output ?? null }
      : { state: "output-error", errorText: textOf(toolOutput.error) };
  return new Map([[toolCall.toolCallId, result]]);
}

/** By call id, the results that come before anything that the turn's model said. */
export function firstResults({ responseMessages = [] }: StepBegun = {}): ReadonlyMap<string, CallResult> {
  const results = new Map<string, CallResult>();
  for (const message of responseMessages) {
    if (message.role !== "tool") break;
    for (const part of message.content) {
      if (part.type === "tool-result") results.set(part.toolCallId, fromOutput(part.output));
    }
  }
  return results;
}

type Output = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>["output"];

function fromOutput(output: Output): CallResult {
  if (output.type === "execution-denied") return { state: "output-denied", reason: output.reason ?? null };
  if (output.type === "error-text") return { state: "output-error", errorText: output.value };
  if (output.type === "error-json") return { state: "output-error", errorText: JSON.stringify(output.value) };
  return { state: "output-available", output: output.value };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
