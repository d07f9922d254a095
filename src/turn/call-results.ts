/**
 * Results of an earlier turn's calls, which the AI SDK ran before it asked the model. The SDK runs a call that a person approved, or
 * refuses it where its input no longer holds. Its result stands in front of the first step and belongs to no step of the turn.
 *
 * Reads only the arguments of `prepareStep` and `onToolExecutionEnd`. The call's id says which call is meant.
 */
import type { ModelMessage, StepResult, ToolModelMessage, ToolSet } from "ai";
import { hasResult, toolPart, type GivenResult, type Part, type ToolPart } from "../steps/message/message.ts";
import { isStub } from "../steps/view/repair.ts";

/** The part of `prepareStep`'s argument that this module reads, which holds all results of the turn so far. */
export interface StepBegun {
  /** Missing in version 6 of the AI SDK. */
  readonly responseMessages?: readonly ModelMessage[];
  /** The step's model. */
  readonly model?: unknown;
  /** The step's instructions. */
  readonly instructions?: unknown;
  /** The messages that the turn began with, and those that it produced. */
  readonly messages?: readonly ModelMessage[];
  readonly steps?: readonly {
    readonly response: { readonly messages: readonly ModelMessage[] };
    readonly content?: StepResult<ToolSet>["content"];
  }[];
}

/** The part of `onToolExecutionEnd`'s argument that this module reads. */
export interface ToolEnded {
  readonly toolCall: { readonly toolCallId: string };
  readonly toolOutput:
    | { readonly type: "tool-result"; readonly output: unknown }
    | { readonly type: "tool-error"; readonly error: unknown };
}

export function resultOf({ toolCall, toolOutput }: ToolEnded): ReadonlyMap<string, GivenResult> {
  const result: GivenResult =
    toolOutput.type === "tool-result"
      ? { state: "output-available", output: toolOutput.output ?? null }
      : { state: "output-error", errorText: textOf(toolOutput.error) };
  return new Map([[toolCall.toolCallId, result]]);
}

/** By call id, the results that come before anything that the turn's model said. */
export function firstResults({ responseMessages = [] }: StepBegun = {}): ReadonlyMap<string, GivenResult> {
  const results = new Map<string, GivenResult>();
  for (const message of responseMessages) {
    if (message.role !== "tool") break;
    for (const part of message.content) {
      if (part.type === "tool-result") results.set(part.toolCallId, fromOutput(part.output));
    }
  }
  return results;
}

/** The call of a part without a result, or with a stub by which a repair of the view closed it. Otherwise null. */
export function openCall(part: Part): ToolPart | null {
  const call = toolPart(part);
  return call === null || (hasResult(call) && !isStub(call)) ? null : call;
}

/** The parts with results for their open calls, counted from 0. Returns the same array where there are none. */
export function answerCalls(parts: Part[], resultFor: (call: ToolPart, n: number) => GivenResult | undefined): Part[] {
  let n = 0;
  const answered = parts.map((part) => {
    const call = openCall(part);
    const result = call === null ? undefined : resultFor(call, n++);
    return call === null || result === undefined ? part : withResult(call, result);
  });
  return answered.every((part, at) => part === parts[at]) ? parts : answered;
}

/** The approval stays, because it tells why the call was run or refused. */
function withResult(call: ToolPart, result: GivenResult): ToolPart {
  const { errorText: _stub, toolMetadata, ...rest } = call;
  const { palimpsest: _mark, ...metadata } = toolMetadata ?? {};
  const part = Object.keys(metadata).length === 0 ? rest : { ...rest, toolMetadata: metadata };
  if (result.state !== "output-denied") return { ...part, ...result } as ToolPart;
  const { state, reason } = result;
  const approval = { ...call.approval, id: call.approval?.id ?? call.toolCallId, approved: false };
  return { ...part, state, approval: reason === null ? approval : { ...approval, reason } } as ToolPart;
}

type Output = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>["output"];

function fromOutput(output: Output): GivenResult {
  if (output.type === "execution-denied") return { state: "output-denied", reason: output.reason ?? null };
  if (output.type === "error-text") return { state: "output-error", errorText: output.value };
  if (output.type === "error-json") return { state: "output-error", errorText: JSON.stringify(output.value) };
  return { state: "output-available", output: output.value };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
