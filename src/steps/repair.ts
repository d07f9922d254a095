/**
 * Makes any list of messages one that a model accepts: every tool call has exactly one result, and the reverse (V2).
 *
 * Job: fix, on a copy, what branches, edits, deletions, crashes and imports leave behind. Boundary: nothing is stored;
 * what is fixed here is fixed again on the next read. Safe because it is deterministic, keeps the order of parts, and
 * turns what it cannot pair into text instead of dropping it: a repaired view never says less.
 */
import type { FileUIPart, UIMessage } from "ai";
import { hasResult, isBareResult, jsonText, toolName, toolPart, type Part, type ToolPart } from "./tool-parts.ts";

export interface RepairOptions {
  /** Leave open the calls of the last message: something outside (a person, a client) is about to answer them. */
  readonly keepOpenTail?: boolean;
}

/** The error text that closes a call whose result was never stored. */
export const NO_RESULT = "No result was recorded for this call.";

/** Where a part is, and what is to stand there. `null` removes it. */
interface Slot {
  readonly message: number;
  part: Part | null;
}

/**
 * The messages with every call paired once. Returns the same array, and the same objects in it, wherever nothing
 * needed repair. `convertToModelMessages` accepts the result.
 */
export function repairMessages(messages: UIMessage[], options: RepairOptions = {}): UIMessage[] {
  const slots = messages.map((message, index) =>
    message.parts.map((part): Slot => ({ message: index, part: convertible(part) })),
  );
  pairCalls(messages, slots.flat(), options.keepOpenTail === true ? messages.length - 1 : Number.NaN);
  const repaired = messages.flatMap((message, index) => {
    const parts = (slots[index] ?? []).flatMap(({ part }) => (part === null ? [] : [part]));
    if (parts.every((part) => part.type === "step-start")) return [];
    const same = parts.length === message.parts.length && parts.every((part, at) => part === message.parts[at]);
    return same ? [message] : [{ ...message, parts }];
  });
  const same = repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
  return same ? messages : repaired;
}

function pairCalls(messages: readonly UIMessage[], slots: readonly Slot[], openTail: number): void {
  const open = new Map<string, Slot>();
  const waiting = new Set<Slot>();
  const used = new Set<string>();
  for (const slot of slots) {
    const part = slot.part === null ? null : toolPart(slot.part);
    if (part === null) continue;
    const call = open.get(part.toolCallId);
    if (call !== undefined && answers(part, call.part as ToolPart)) {
      call.part = answered(call.part as ToolPart, part);
      slot.part = null;
      open.delete(part.toolCallId);
      waiting.delete(call);
    } else if (messages[slot.message]?.role !== "assistant" || isBareResult(part)) {
      slot.part = asText(part);
    } else {
      const id = unusedId(part.toolCallId, used);
      used.add(id);
      slot.part = id === part.toolCallId ? normalized(part) : { ...normalized(part), toolCallId: id };
      if (hasResult(part)) continue;
      open.set(part.toolCallId, slot);
      waiting.add(slot);
    }
  }
  for (const slot of waiting) {
    const part = slot.part as ToolPart;
    if (slot.message !== openTail || part.state === "input-streaming") slot.part = closed(part, NO_RESULT);
  }
}

/** A result answers an open call with its id, unless it shows that something else was asked under the same id. */
function answers(part: ToolPart, call: ToolPart): boolean {
  if (!hasResult(part)) return false;
  return isBareResult(part) || call.state === "input-streaming" || jsonText(part.input) === jsonText(call.input);
}

/** Some models reuse call ids from turn to turn; providers refuse that within one request. */
function unusedId(id: string, used: ReadonlySet<string>): string {
  let candidate = id;
  for (let n = 2; used.has(candidate); n++) candidate = `${id}~${n}`;
  return candidate;
}

/** The call's part with the result of another part. The approval goes: it was the call's way to a result. */
function answered(call: ToolPart, result: ToolPart): ToolPart {
  if (result.state === "output-available") {
    return { ...bare(call), state: "output-available", input: result.input ?? call.input ?? {}, output: result.output } as ToolPart;
  }
  return closed({ ...call, input: result.input ?? call.input }, result.errorText ?? refusal(result));
}

function closed(part: ToolPart, errorText: string): ToolPart {
  return { ...bare(part), state: "output-error", input: part.input ?? {}, errorText } as ToolPart;
}

/** What names a call, without how far it got. */
function bare(part: ToolPart): Record<string, unknown> {
  const { state: _state, input: _input, output: _output, errorText: _errorText, approval: _approval, ...rest } = part;
  delete (rest as Record<string, unknown>)["rawInput"];
  return rest;
}

/** A refused call that the provider was to run itself converts to a call without a result: say it as an error. */
function normalized(part: ToolPart): ToolPart {
  return part.state === "output-denied" && part.providerExecuted === true ? closed(part, refusal(part)) : part;
}

function refusal(part: ToolPart): string {
  return part.approval?.reason ?? "The call was refused.";
}

function asText(part: ToolPart): Part {
  const name = toolName(part);
  if (!hasResult(part)) return { type: "text", text: `[Call of tool ${name}] ${jsonText(part.input)}` };
  if (part.state === "output-available")
    return { type: "text", text: `[Result of tool ${name}] ${jsonText(part.output)}` };
  return { type: "text", text: `[Error of tool ${name}] ${part.errorText ?? refusal(part)}` };
}

/** Parts on which the AI SDK's conversion would throw: files without a usable address, tool parts without a call id. */
function convertible(part: Part): Part {
  if (part.type === "steering-message" && "parts" in part) {
    const parts = part.parts.map(convertible);
    return parts.every((each, index) => each === part.parts[index]) ? part : ({ ...part, parts } as Part);
  }
  const toolLike = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  if (toolLike && toolPart(part) === null) return { type: "text", text: `[Unreadable tool part] ${jsonText(part)}` };
  if (part.type !== "file" && part.type !== "reasoning-file") return part;
  const file = part as FileUIPart;
  if (file.providerReference !== undefined || URL.canParse(file.url)) return part;
  return {
    type: "text",
    text: `[File ${file.filename ?? ""} (${file.mediaType}): its address ${file.url} cannot be sent]`,
  };
}
